"""Writes lzo.tsfile: python lzo.py, with tsfile 2.5.0 of the package index."""

from tsfile import Compressor, Field, RowRecord, TimeseriesSchema, TSDataType, TSEncoding, TsFileWriter

writer = TsFileWriter("lzo.tsfile")
series = {"number": TSDataType.INT64, "word": TSDataType.STRING, "noise": TSDataType.INT32}
for name, kind in series.items():
    writer.register_timeseries("root.d", TimeseriesSchema(name, kind, TSEncoding.PLAIN, Compressor.LZO))
for i in range(1200):
    noise = (i * i * 40503 + i * 2654435) % 65521
    word = "ab" * (i % 7) + str(i // 9) * (i % 3)
    values = [Field("number", i // 5, TSDataType.INT64), Field("word", word, TSDataType.STRING),
              Field("noise", noise, TSDataType.INT32)]
    writer.write_row_record(RowRecord("root.d", i * 10, values))
writer.close()
