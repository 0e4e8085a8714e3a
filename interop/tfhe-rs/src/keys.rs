//! Keys of TFHE-rs, and the device and public keys made from them.

use tfhe::nist_submission::parameters::*;
use tfhe::safe_serialization::safe_serialize;
use tfhe::shortint::parameters::v1_8::*;
use tfhe::{ClientKey, Config, ConfigBuilder, ServerKey, generate_keys};
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{Encryptor, KeyMode, MemoryPlan, PublicEncryptor, workspace_bytes};
use tfhe_sbc_foreign::tfhe_rs::client_key::read_client_key;
use tfhe_sbc_oracle::adopted::adopt;

pub struct Keys {
    pub client: ClientKey,
    pub server: ServerKey,
    pub device: DeviceKey,
    pub device_bytes: Vec<u8>,
    pub public_bytes: Vec<u8>,
}

pub fn serialized<T: serde::Serialize + tfhe::Versionize + tfhe::named::Named>(
    value: &T,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    safe_serialize(value, &mut bytes, 1 << 40).unwrap();
    bytes
}

/// Seeds that a test may repeat.
pub fn seeds(number: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([number; 32]))
}

fn import(client: &ClientKey) -> DeviceKey {
    let imported = read_client_key(&serialized(client)).unwrap();
    let bare = read_client_key(&bincode::serialize(client).unwrap()).unwrap();
    assert_eq!(imported.glwe.coefficients(), bare.glwe.coefficients());
    assert_eq!(imported.parameters, bare.parameters);
    let parameters = adopt(&imported.parameters).unwrap();
    DeviceKey::import(parameters, imported.glwe).unwrap()
}

/// The configuration of Zama's NIST submission, with its keys for compact lists.
pub fn nist_submission() -> Config {
    let compact = (
        NIST_PARAM_PKE_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128,
        NIST_PARAM_KEYSWITCH_PKE_TO_BIG_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128,
    );
    ConfigBuilder::with_custom_parameters(NIST_PARAM_2_CARRY_2_KS_PBS_TUNIFORM_2M128)
        .use_dedicated_compact_public_key_parameters(compact)
        .build()
}

impl Keys {
    /// The keys of a configuration, whose server key is set on every thread.
    pub fn generate(config: Config) -> Self {
        let (client, server) = generate_keys(config);
        rayon::broadcast(|_| tfhe::set_server_key(server.clone()));
        tfhe::set_server_key(server.clone());
        let device = import(&client);
        let parameters = device.parameters();
        eprintln!(
            "{}: {} bits of a body travel, {} of a public key's mask; p_fail 2^{:.1}, {:.1} bits",
            parameters.name(),
            parameters.body_bits(),
            parameters.public_key_mask_bits(),
            parameters.log2_p_fail(),
            parameters.security_bits()
        );
        let public = device.public_key(&mut seeds(1)).unwrap();
        Self {
            device_bytes: device.to_bytes().unwrap().to_vec(),
            public_bytes: public.to_bytes().unwrap(),
            client,
            server,
            device,
        }
    }

    pub fn parameters(&self) -> &Parameters {
        self.device.parameters()
    }

    /// The message of these blocks, by the device library.
    pub fn encrypt(&self, mode: KeyMode, expander: ExpanderKind, blocks: &[u8]) -> Vec<u8> {
        let plan = MemoryPlan::recommended();
        let mut workspace =
            HeapWorkspace::new(workspace_bytes(self.parameters().as_set(), plan, mode));
        let workspace = workspace.as_mut_slice();
        match mode {
            KeyMode::Symmetric => {
                let bytes = &self.device_bytes;
                let mut session =
                    Encryptor::<u64>::new(bytes, plan, expander, seeds(2), workspace).unwrap();
                let mut message = vec![0; session.message_len(blocks.len())];
                session.encrypt_blocks(blocks, &mut message).unwrap();
                message
            }
            KeyMode::Public => {
                let bytes = &self.public_bytes;
                let mut session =
                    PublicEncryptor::<u64>::new(bytes, plan, expander, seeds(3), workspace)
                        .unwrap();
                let mut message = vec![0; session.message_len(blocks.len())];
                session.encrypt_blocks(blocks, &mut message).unwrap();
                message
            }
        }
    }
}

pub fn other_keys_are_refused_by_name() {
    let custom = |set: Config| read_client_key(&serialized(&ClientKey::generate(set))).unwrap_err();
    let ks32 = V1_8_PARAM_MESSAGE_2_CARRY_2_KS32_PBS_TUNIFORM_2M128;
    let error = custom(ConfigBuilder::with_custom_parameters(ks32).build());
    assert!(error.to_string().contains("KS32"), "{error}");
    let multi_bit = V1_8_PARAM_MULTI_BIT_GROUP_3_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128;
    let error = custom(ConfigBuilder::with_custom_parameters(multi_bit).build());
    assert!(error.to_string().contains("multi-bit"), "{error}");
}

pub fn other_sets_are_imported() {
    for set in [
        V1_8_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128,
        V1_8_PARAM_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M128,
        V1_8_PARAM_MESSAGE_1_CARRY_1_KS_PBS_TUNIFORM_2M128,
    ] {
        let config = ConfigBuilder::with_custom_parameters(set).build();
        let device = import(&ClientKey::generate(config));
        assert_eq!(device.parameters().lwe_dimension().0, set.lwe_dimension.0);
        assert_eq!(device.parameters().glwe_dimension().0, set.glwe_dimension.0);
    }
}
