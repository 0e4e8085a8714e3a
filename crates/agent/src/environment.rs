//! The agent's variables of the environment.

/// The beginning of the variables' names.
pub const ENVIRONMENT_PREFIX: &str = "TFHE_SBC_AGENT_";
/// The variable that names the file with the settings.
pub const CONFIG_VARIABLE: &str = "TFHE_SBC_AGENT_CONFIG";
