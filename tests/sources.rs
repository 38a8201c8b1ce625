//! Reading data: every source gives exactly what its file holds, and every broken file is an error that says where.

#[path = "sources/broken.rs"]
mod broken;
#[path = "sources/csv.rs"]
mod csv;
#[path = "sources/json.rs"]
mod json;
#[path = "sources/kit.rs"]
mod kit;
#[path = "sources/mo.rs"]
mod mo;
