//! The data of the samples: synthetic, but of realistic shape.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use tesselle::Result;

/// One sample file.
pub(super) struct Sample {
    pub(super) file: &'static str,
    pub(super) what: &'static str,
    pub(super) format: &'static str,
    pub(super) table: Option<&'static str>,
    pub(super) settings: &'static [(&'static str, &'static str)],
    pub(super) rows: fn() -> Result<RecordBatch>,
}

pub(super) fn all() -> [Sample; 5] {
    [
        Sample {
            file: "tensor.tet",
            what: "a tensor: hours x lat x lon",
            format: "tet",
            table: Some("wind"),
            settings: &[("chunk", "12,16,16"), ("codec", "zstd")],
            rows: tensor,
        },
        Sample {
            file: "weather.tiledb",
            what: "a dense TileDB array: a raster",
            format: "tiledb",
            table: None,
            settings: &[
                ("kind", "dense"),
                ("dims", "lat,lon"),
                ("domain.lat", "0:255"),
                ("domain.lon", "0:255"),
                ("extent", "64"),
                ("filters", "byteshuffle,zstd"),
            ],
            rows: raster,
        },
        Sample {
            file: "points.tiledb",
            what: "a sparse TileDB array: points",
            format: "tiledb",
            table: None,
            settings: &[("kind", "sparse"), ("dims", "x,y"), ("dups", "true"), ("filters", "zstd")],
            rows: points,
        },
        Sample {
            file: "fleet.tsfile",
            what: "TsFile: a fleet of trucks",
            format: "tsfile",
            table: None,
            settings: &[("device_column", "device")],
            rows: fleet,
        },
        Sample {
            file: "crawl.tatami",
            what: "tatami: a small crawl",
            format: "tatami",
            table: None,
            settings: &[("sort_key", "url")],
            rows: crawl,
        },
    ]
}

/// Deterministic pseudorandom numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        self.below(1 << 24) as f64 / f64::from(1 << 24)
    }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn tensor() -> Result<RecordBatch> {
    const SHAPE: [i64; 3] = [48, 64, 64];
    let (mut time, mut lat, mut lon, mut wind) = (vec![], vec![], vec![], vec![]);
    for t in 0..SHAPE[0] {
        for y in 0..SHAPE[1] {
            for x in 0..SHAPE[2] {
                time.push(t);
                lat.push(y);
                lon.push(x);
                let value = (t as f32 / 6.0).sin() * 4.0 + (y as f32 / 20.0).cos() * 3.0 + x as f32 / 32.0;
                wind.push((value * 10.0).round() / 10.0);
            }
        }
    }
    batch(vec![
        ("time", Arc::new(Int64Array::from(time))),
        ("lat", Arc::new(Int64Array::from(lat))),
        ("lon", Arc::new(Int64Array::from(lon))),
        ("value", Arc::new(Float32Array::from(wind))),
    ])
}

fn raster() -> Result<RecordBatch> {
    const SIDE: i32 = 256;
    let mut random = Random(1);
    let (mut lat, mut lon, mut temperature, mut rain) = (vec![], vec![], vec![], vec![]);
    for y in 0..SIDE {
        for x in 0..SIDE {
            lat.push(y);
            lon.push(x);
            temperature.push(15.0 - (f64::from(y) / 40.0).sin() * 10.0 + (f64::from(x) / 60.0).cos() * 4.0);
            rain.push(if random.below(4) == 0 { random.below(30) as i32 } else { 0 });
        }
    }
    batch(vec![
        ("lat", Arc::new(Int32Array::from(lat))),
        ("lon", Arc::new(Int32Array::from(lon))),
        ("temperature", Arc::new(Float64Array::from(temperature))),
        ("rain", Arc::new(Int32Array::from(rain))),
    ])
}

fn points() -> Result<RecordBatch> {
    let mut random = Random(2);
    let (mut x, mut y, mut z) = (vec![], vec![], vec![]);
    for _ in 0..20_000 {
        let (px, py) = (random.unit() * 1000.0, random.unit() * 1000.0);
        x.push(px);
        y.push(py);
        z.push(((px / 100.0).sin() * 20.0 + py / 50.0) as f32);
    }
    batch(vec![
        ("x", Arc::new(Float64Array::from(x))),
        ("y", Arc::new(Float64Array::from(y))),
        ("z", Arc::new(Float32Array::from(z))),
    ])
}

fn fleet() -> Result<RecordBatch> {
    const START: i64 = 1_735_689_600_000; // 2025-01-01T00:00:00Z
    let mut random = Random(3);
    let (mut device, mut time, mut temperature, mut speed) = (vec![], vec![], vec![], vec![]);
    for truck in 0..4 {
        for minute in 0..2000_i64 {
            device.push(format!("root.fleet.truck{truck}"));
            time.push(START + minute * 60_000);
            temperature
                .push(80.0 + f64::from(truck) * 3.0 + (minute as f64 / 90.0).sin() * 6.0 + random.unit());
            speed.push(random.below(90) as i32);
        }
    }
    batch(vec![
        ("device", Arc::new(StringArray::from(device))),
        ("time", Arc::new(TimestampMillisecondArray::from(time))),
        ("temperature", Arc::new(Float64Array::from(temperature))),
        ("speed", Arc::new(Int32Array::from(speed))),
    ])
}

fn crawl() -> Result<RecordBatch> {
    const WORDS: [&str; 16] = [
        "river", "stone", "paper", "light", "garden", "bridge", "window", "engine", "harbour", "market",
        "letter", "winter", "copper", "forest", "violin", "lantern",
    ];
    let mut random = Random(4);
    let (mut url, mut title, mut body) = (vec![], vec![], vec![]);
    for page in 0..2000 {
        let mut sentence = |n: u64| {
            let words: Vec<&str> =
                (0..n).map(|_| WORDS[random.below(16).min(random.below(16)) as usize]).collect();
            words.join(" ")
        };
        url.push(format!("https://example.org/{page:05}"));
        title.push(sentence(3));
        body.push(sentence(60));
    }
    batch(vec![
        ("url", Arc::new(StringArray::from(url))),
        ("title", Arc::new(StringArray::from(title))),
        ("body", Arc::new(StringArray::from(body))),
    ])
}
