pub fn validate(_: &str) -> anyhow::Result<()> { Ok(()) }
