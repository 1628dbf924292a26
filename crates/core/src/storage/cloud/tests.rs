use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;
use crate::error::ErrorKind;

fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

fn memory() -> Location {
    CloudStorage::from_url("memory:///data", &BTreeMap::new()).unwrap()
}

fn put(location: &Location, bytes: &[u8]) {
    let mut staged = location.create(true).unwrap();
    staged.write(bytes).unwrap();
    staged.commit().unwrap();
}

#[test]
fn many_ranges_come_in_their_order() {
    let file = memory().join("f");
    let bytes: Vec<u8> = (0..100_000_u32).map(|i| (i * 7 / 3) as u8).collect();
    put(&file, &bytes);
    let ranges: Vec<Range<u64>> = (0..200).rev().map(|i| i * 499..i * 499 + 300).chain(Some(5..5)).collect();
    for (range, got) in ranges.iter().zip(file.read(&ranges).unwrap()) {
        assert_eq!(got, bytes[range.start as usize..range.end as usize]);
    }
}

#[test]
fn large_objects_are_uploaded_in_parts() {
    let file = memory().join("large");
    let block: Vec<u8> = (0..1_000_003_u32).map(|i| (i >> 3) as u8).collect();
    let mut staged = file.create(true).unwrap();
    for _ in 0..20 {
        staged.write(&block).unwrap();
    }
    staged.write_at(0, b"head").unwrap();
    assert_eq!(staged.position(), 20_000_060);
    assert!(!file.exists().unwrap());
    staged.commit().unwrap();
    let all = file.read_all(u64::MAX).unwrap();
    assert_eq!(&all[..4], b"head");
    assert!(all[4..1_000_003] == block[4..] && all[19 * 1_000_003..] == block[..]);
}

#[test]
fn calls_from_inside_a_runtime_are_fine() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let size = runtime.block_on(async {
        let file = memory().join("f");
        put(&file, b"12345");
        file.size()
    });
    assert_eq!(size.unwrap(), 5);
}

/// Answers GET and HEAD of `/data/file` with ranges, and 403 with a body that contains secrets for `/data/secret`.
fn server(content: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let content = content.clone();
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read(&mut byte).unwrap_or(0) == 0 {
                        return;
                    }
                    request.push(byte[0]);
                }
                let request = String::from_utf8_lossy(&request).to_lowercase();
                let head = request.starts_with("head");
                let (status, body, extra) = if request.contains(" /data/secret ") {
                    let body = b"<Error><Code>AccessDenied</Code><Key>TOPSECRET</Key></Error>".to_vec();
                    ("403 Forbidden", body, String::new())
                } else if !request.contains(" /data/file ") {
                    ("404 Not Found", Vec::new(), String::new())
                } else if let Some(range) = request.split("range: bytes=").nth(1) {
                    let (first, last) = range.split(['\r', '\n']).next().unwrap().split_once('-').unwrap();
                    let first: usize = first.parse().unwrap();
                    if first >= content.len() {
                        ("416 Range Not Satisfiable", Vec::new(), String::new())
                    } else {
                        let last = last.parse::<usize>().unwrap().min(content.len() - 1);
                        let extra = format!("Content-Range: bytes {first}-{last}/{}\r\n", content.len());
                        ("206 Partial Content", content[first..=last].to_vec(), extra)
                    }
                } else {
                    ("200 OK", content, String::new())
                };
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{extra}Connection: close\r\n\r\n",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).unwrap();
                if !head {
                    stream.write_all(&body).unwrap();
                }
            });
        }
    });
    port
}

#[test]
fn a_web_server_is_read_by_ranges() {
    let content: Vec<u8> = (0..50_000_u32).map(|i| (i / 5) as u8).collect();
    let port = server(content.clone());
    let url = format!("http://user:hunter22@127.0.0.1:{port}/data/file");
    let file = CloudStorage::from_url(&url, &options(&[("max_retries", "0")])).unwrap();
    assert_eq!(file.size().unwrap(), 50_000);
    assert!(file.is_file().unwrap());
    let parts = file.read(&[40_000..50_000, 0..10, 7..7]).unwrap();
    assert_eq!(parts[0], content[40_000..]);
    assert_eq!(parts[1], content[..10]);

    let past_end = file.read_range(49_990..50_010).unwrap_err();
    assert_eq!((past_end.kind(), past_end.class_name()), (ErrorKind::Corrupt, "truncated"));
    let past_end = file.read_range(60_000..60_010).unwrap_err();
    assert_eq!(past_end.kind(), ErrorKind::Corrupt);

    let folder = file.parent().unwrap();
    let missing = folder.join("none");
    assert_eq!(missing.size().unwrap_err().kind(), ErrorKind::Io);
    assert!(!missing.exists().unwrap());

    let refused = folder.join("secret").size().unwrap_err().to_string();
    let refused_read = folder.join("secret").read_range(0..4).unwrap_err().to_string();
    for text in [refused, refused_read, format!("{file:?}")] {
        assert!(text.contains(&format!("127.0.0.1:{port}")), "{text}");
        assert!(!text.contains("hunter22") && !text.contains("TOPSECRET"), "{text}");
    }
}

#[test]
fn wrong_calls_are_refused_without_secrets() {
    let none = BTreeMap::new();
    for url in ["ftp://host/file", "no url", "s3:///key"] {
        assert!(CloudStorage::from_url(url, &none).is_err(), "{url}");
    }
    let unknown = CloudStorage::from_url("s3://bucket/key", &options(&[("color", "red")])).unwrap_err();
    assert!(unknown.to_string().contains("color"), "{unknown}");
    let bad =
        CloudStorage::from_url("gs://b/k", &options(&[("google_service_account_key", "{\"hunter22\": 1")]));
    assert!(!bad.unwrap_err().to_string().contains("hunter22"));
    let location = memory();
    assert!(location.storage().create("").is_err());
    assert_eq!(location.join("a//b").size().unwrap_err().kind(), ErrorKind::Invalid);
    assert!(CloudStorage::takes("S3://x/y") && !CloudStorage::takes("/tmp/x"));
}

#[test]
fn errors_name_bucket_and_key() {
    let pairs = [
        ("region", "eu-west-1"),
        ("skip_signature", "true"),
        ("max_retries", "0"),
        ("endpoint", "http://127.0.0.1:9"),
    ];
    let file = CloudStorage::from_url("s3://bucket/some/key", &options(&pairs)).unwrap();
    assert_eq!(file.path(), "some/key");
    let error = file.size().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("s3://bucket/some/key"), "{error}");
}

/// Two storages of one store, as two processes have them, whose locks end after `lease`.
fn processes(lease: Duration) -> [CloudStorage; 2] {
    let (storage, _) = connect::connect("memory:///", &BTreeMap::new()).unwrap();
    [(); 2].map(|()| CloudStorage { leases: Arc::default(), lease, ..storage.clone() })
}

fn at(storage: &CloudStorage, path: &str) -> Location {
    Location::new(Arc::new(storage.clone()), path)
}

#[test]
fn a_lock_excludes_other_processes_and_leaves_no_object() {
    let [one, two] = processes(lease::LEASE);
    let lock = one.lock("folder/a", Duration::ZERO).unwrap();
    let error = two.lock("folder/a", Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    drop(two.lock("folder/b", Duration::ZERO).unwrap());
    drop(lock);
    drop(two.lock("folder/a", Duration::ZERO).unwrap());
    assert_eq!(one.list("folder").unwrap(), []);
}

#[test]
fn a_lock_that_is_held_for_long_is_renewed() {
    // Long enough for a busy machine to renew it in time.
    let lease = Duration::from_secs(3);
    let [one, two] = processes(lease);
    let _lock = one.lock("a", Duration::ZERO).unwrap();
    assert!(two.lock("a", lease * 2).is_err());
}

#[test]
fn a_lock_of_a_killed_process_is_taken_over_and_its_holder_changes_nothing() {
    let [killed, next] = processes(Duration::from_millis(80));
    for path in ["new", "old", "large"] {
        if path != "new" {
            put(&at(&killed, path), b"0");
        }
        // As if the process had been stopped: the lock is not renewed.
        put(&at(&killed, &format!(".{path}.lock")), b"process 1");
        let taken = next.lock(path, Duration::from_mins(1)).unwrap();
        put(&at(&next, path), b"1");
        // The same process, which slept through its lease and does not know that the lock is gone.
        let late = CloudStorage { leases: Arc::clone(&next.leases), ..killed.clone() };
        let thief = CloudStorage { leases: Arc::default(), ..killed.clone() };
        put(&at(&thief, &format!(".{path}.lock")), b"process 2");
        put(&at(&thief, path), b"2");
        let bytes = vec![7; if path == "large" { 17 << 20 } else { 10 }];
        let mut staged = at(&late, path).create(true).unwrap();
        staged.write(&bytes).unwrap();
        let error = staged.commit().unwrap_err();
        assert!(error.to_string().contains("changed by another process"), "{error}");
        assert_eq!(at(&killed, path).read_all(1 << 20).unwrap(), &b"2"[..]);
        // Nor does the end of a lock that was lost release the one of its successor.
        drop(taken);
        assert_eq!(at(&killed, &format!(".{path}.lock")).read_all(100).unwrap(), &b"process 2"[..]);
    }
}

#[test]
fn processes_that_count_under_the_lock_lose_nothing() {
    let (storage, _) = connect::connect("memory:///", &BTreeMap::new()).unwrap();
    put(&at(&storage, "n"), b"0");
    let add = || {
        let process = CloudStorage { leases: Arc::default(), ..storage.clone() };
        let n = at(&process, "n");
        for _ in 0..10 {
            let _lock = n.lock(Duration::from_mins(5)).unwrap();
            let next =
                String::from_utf8(n.read_all(10).unwrap().to_vec()).unwrap().parse::<u32>().unwrap() + 1;
            put(&n, next.to_string().as_bytes());
        }
    };
    std::thread::scope(|scope| (0..6).for_each(|_| drop(scope.spawn(add))));
    assert_eq!(at(&storage, "n").read_all(10).unwrap(), &b"60"[..]);
}
