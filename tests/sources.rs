//! Reading data: every source gives exactly what its file holds, and every broken file is an error that says where.

#[path = "sources/json.rs"]
mod json;
#[path = "sources/kit.rs"]
mod kit;
