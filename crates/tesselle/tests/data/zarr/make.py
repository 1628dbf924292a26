# Writes the stores in this folder with zarr 3.1.6 and numpy 2.4.6: python make.py .
import zarr, numpy as np, os, shutil, sys
from zarr.codecs import *
root=sys.argv[1]
shutil.rmtree(root, ignore_errors=True); os.makedirs(root)
def arr(name, data, chunks, attrs=None, dims=None, **kw):
    a=zarr.create_array(store=os.path.join(root,name), data=data, chunks=chunks, zarr_format=3, dimension_names=dims, attributes=attrs, **kw)
    return a
g=np.arange(7*10,dtype='f4').reshape(7,10)/4
arr('zstd.zarr', g, (3,4), attrs={'units':'K','scale':0.5,'list':[1,2]}, dims=['y','x'])
arr('gzip.zarr', (np.arange(30,dtype='>i2')).reshape(5,6), (2,5), compressors=[GzipCodec(level=5)])
arr('crc.zarr', np.arange(11,dtype='u8')*10**12, (4,), compressors=[ZstdCodec(level=1), Crc32cCodec()])
arr('raw.zarr', (np.arange(24)%3==0).reshape(2,3,4), (1,2,3), compressors=None)
arr('sharded.zarr', np.arange(20*12,dtype='i4').reshape(20,12), (2,3), shards=(10,6), dims=['row','col'])
arr('blosc.zarr', np.arange(400,dtype='i8').reshape(20,20)*3, (8,8), compressors=[BloscCodec(cname='zstd',clevel=5,shuffle=BloscShuffle.shuffle)])
arr('blosc-lz4.zarr', np.arange(400,dtype='f8').reshape(20,20)/7, (8,20), compressors=[BloscCodec(cname='lz4',clevel=5,shuffle=BloscShuffle.bitshuffle)])
arr('blosclz.zarr', (np.arange(3000,dtype='i4')%17).reshape(30,100), (10,100), compressors=[BloscCodec(cname='blosclz',clevel=9,shuffle=BloscShuffle.shuffle)])
arr('transposed.zarr', np.arange(24,dtype='i2').reshape(2,3,4), (2,2,4), filters=[TransposeCodec(order=(2,0,1))])
a=zarr.create_array(store=os.path.join(root,'sparse.zarr'), shape=(10,10), dtype='f8', chunks=(5,5), fill_value=float('nan'), zarr_format=3, chunk_key_encoding={'name':'v2','separator':'.'})
a[0:5,5:10]=np.arange(25.).reshape(5,5)
z=zarr.create_array(store=os.path.join(root,'scalar.zarr'), data=np.array(42,dtype='i4'), zarr_format=3)
gr=zarr.create_group(os.path.join(root,'group.zarr'), zarr_format=3, attributes={'title':'weather'})
t=gr.create_array('temperature', data=np.arange(12,dtype='f8').reshape(3,4), chunks=(2,2), dimension_names=['lat','lon'], attributes={'units':'C'})
r=gr.create_array('rain', data=(np.arange(12,dtype='i4')*2).reshape(3,4), chunks=(3,2), dimension_names=['lat','lon'])
s=gr.create_group('deep'); s.create_array('levels', data=np.arange(5,dtype='u1'), chunks=(5,))
