//! From a URL and options to a client.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::memory::InMemory;
use object_store::{ClientConfigKey, ObjectStore, ObjectStoreScheme, RetryConfig};
use url::Url;

use super::CloudStorage;
use super::failure::{Failures, without_credentials};
use super::lease::LEASE;
use crate::error::{Error, Result};

type Options = BTreeMap<String, String>;

/// The storage and the key that `url` names.
pub(super) fn connect(url: &str, options: &Options) -> Result<(CloudStorage, String)> {
    let shown = without_credentials(url);
    let parsed =
        Url::parse(url).map_err(|error| Error::invalid(format!("'{shown}' is not a URL: {error}")))?;
    let (scheme, path) = ObjectStoreScheme::parse(&parsed).map_err(|_| {
        Error::unsupported(format!("'{shown}' is not a known object store"))
            .hint("known are s3://, gs://, az://, abfs[s]://, http[s]:// and memory://")
    })?;
    let failures = Failures::new(base_of(&parsed, &scheme), secrets(&parsed, options));
    let retry = retry_of(options)?;
    let built: object_store::Result<Arc<dyn ObjectStore>> = match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let mut builder = AmazonS3Builder::from_env().with_url(parsed.as_str()).with_retry(retry);
            for (key, value) in known::<AmazonS3ConfigKey>(options, "S3")? {
                builder = builder.with_config(key, value);
            }
            // An explicit endpoint without encryption is intended.
            let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
            if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) {
                builder = builder.with_allow_http(true);
            }
            builder.build().map(|store| Arc::new(store) as _)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let mut builder =
                GoogleCloudStorageBuilder::from_env().with_url(parsed.as_str()).with_retry(retry);
            for (key, value) in known::<GoogleConfigKey>(options, "Google Cloud Storage")? {
                builder = builder.with_config(key, value);
            }
            builder.build().map(|store| Arc::new(store) as _)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let mut builder = MicrosoftAzureBuilder::from_env().with_url(parsed.as_str()).with_retry(retry);
            for (key, value) in known::<AzureConfigKey>(options, "Azure")? {
                builder = builder.with_config(key, value);
            }
            builder.build().map(|store| Arc::new(store) as _)
        }
        ObjectStoreScheme::Http => {
            let root = &parsed[..url::Position::BeforePath];
            let mut builder = HttpBuilder::new().with_url(root).with_retry(retry);
            builder =
                builder.with_config(ClientConfigKey::AllowHttp, (parsed.scheme() == "http").to_string());
            for (key, value) in known::<ClientConfigKey>(options, "HTTP")? {
                builder = builder.with_config(key, value);
            }
            builder.build().map(|store| Arc::new(store) as _)
        }
        ObjectStoreScheme::Memory => {
            known::<ClientConfigKey>(options, "memory")?;
            Ok(Arc::new(InMemory::new()) as _)
        }
        _ => return Err(Error::unsupported(format!("'{shown}' is not a known object store"))),
    };
    let store = built.map_err(|error| failures.of_setup(&error))?;
    let storage = CloudStorage {
        store,
        failures: Arc::new(failures),
        lists: scheme != ObjectStoreScheme::Http,
        leases: Arc::default(),
        lease: LEASE,
    };
    Ok((storage, path.to_string()))
}

/// The prefix of keys in messages.
fn base_of(url: &Url, scheme: &ObjectStoreScheme) -> String {
    if *scheme == ObjectStoreScheme::Memory {
        return "memory://".to_owned();
    }
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let host = format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default());
    // In `https://s3.region.amazonaws.com/bucket/key` and similar URLs the bucket is part of the path, not of the key.
    let key = ObjectStoreScheme::parse(url).map(|(_, key)| key.to_string()).unwrap_or_default();
    let before = url.path().trim_matches('/').strip_suffix(&key).unwrap_or_default().trim_matches('/');
    if before.is_empty() { host } else { format!("{host}/{before}") }
}

/// Retry options, for every store.
const RETRY_KEYS: [&str; 2] = ["max_retries", "retry_timeout"];

fn retry_of(options: &Options) -> Result<RetryConfig> {
    let mut retry = RetryConfig::default();
    let number = |name: &str| {
        let text = options.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        text.map(|text| {
            text.trim()
                .parse::<u32>()
                .map_err(|_| Error::invalid(format!("storage option {name}={text} is not a number")))
        })
        .transpose()
    };
    if let Some(most) = number("max_retries")? {
        retry.max_retries = most as usize;
    }
    if let Some(seconds) = number("retry_timeout")? {
        retry.retry_timeout = Duration::from_secs(u64::from(seconds));
    }
    Ok(retry)
}

/// The options with their keys as the store knows them.
fn known<K: FromStr>(options: &Options, store: &str) -> Result<Vec<(K, String)>> {
    let rest = options.iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    rest.filter(|(name, _)| !RETRY_KEYS.contains(&name.as_str()))
        .map(|(name, value)| {
            let key = name.parse::<K>().map_err(|_| {
                Error::invalid(format!("storage option '{name}' is not known for {store}")).hint(
                    "names are those of object_store, such as aws_region, endpoint, timeout, allow_http",
                )
            })?;
            Ok((key, value.clone()))
        })
        .collect()
}

/// Values that must never be shown: those with a secret name, and those in the URL.
fn secrets(url: &Url, options: &Options) -> Vec<String> {
    let telling = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["secret", "key", "token", "password", "sas", "credential", "signature", "service_account"]
            .iter()
            .any(|word| name.contains(word))
    };
    let environment = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        let ours = ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|prefix| name.starts_with(prefix));
        (ours && telling(&name)).then(|| value.into_string().ok()).flatten()
    });
    let given = options.iter().filter(|(name, _)| telling(name)).map(|(_, value)| value.clone());
    let own = url.password().into_iter().chain(url.query()).map(str::to_owned);
    given.chain(own).chain(environment).collect()
}
