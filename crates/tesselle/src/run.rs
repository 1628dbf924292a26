//! The threads, the memory and the cancellation of a call.

use tesselle_core::driver::{CancelToken, default_driver};
use tesselle_core::{Driver, Result};

/// The driver of a builder: the process-wide one, unless another is given.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunOn {
    driver: Option<Driver>,
    token: Option<CancelToken>,
}

impl RunOn {
    pub(crate) fn set_driver(&mut self, driver: &Driver) {
        self.driver = Some(driver.clone());
    }

    pub(crate) fn set_token(&mut self, token: &CancelToken) {
        self.token = Some(token.clone());
    }

    /// Whether a driver was given.
    pub(crate) fn has_driver(&self) -> bool {
        self.driver.is_some()
    }

    /// The driver of this call.
    pub(crate) fn driver(&self) -> Result<Driver> {
        let driver = self.driver.clone().map_or_else(default_driver, Ok)?;
        Ok(match &self.token {
            Some(token) => driver.under(token),
            None => driver,
        })
    }
}

/// The methods of every builder with a field `run`.
macro_rules! run_methods {
    () => {
        /// Runs on the threads and within the memory of `driver` `[default: the process-wide driver]`.
        pub fn on(mut self, driver: &tesselle_core::Driver) -> Self {
            self.run.set_driver(driver);
            self
        }

        /// Stops with an error of the kind `Canceled` when `token` is canceled.
        pub fn cancel_with(mut self, token: &tesselle_core::driver::CancelToken) -> Self {
            self.run.set_token(token);
            self
        }
    };
}
pub(crate) use run_methods;
