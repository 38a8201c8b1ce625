//! What a service needs: documents fetched by URL, and `larder serve` driven as a user drives it.

mod blob;
mod flaky;
