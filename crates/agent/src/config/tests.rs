//! Tests of refused settings, and of the files that are made for people.

use std::path::Path;

use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_transport::signature::Algorithm;
use tfhe_sbc_upload::definition::UploadKind;
use tfhe_sbc_upload::readings::Compact;

use super::*;

const GOOD: &str = r#"
[server]
url = "https://localhost:8443"
[device]
key = "device.tsbc"
[tls]
ca = "ca.pem"
certificate = "device.pem"
key = "device.key"
[[column]]
name = "t"
offset = 0.0
scale = 0.5
bits = 8
source = { kind = "thermal", zone = "cpu" }
"#;

fn parse(text: &str) -> Result<Config, AgentError> {
    Config::parse(text, Path::new("/etc/x"), [])
}

fn with(variables: &[(&str, &str)]) -> Result<Config, AgentError> {
    let variables = variables.iter();
    let variables = variables.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Config::parse(GOOD, Path::new("/etc/x"), variables)
}

#[test]
fn the_written_settings_are_right_as_they_are_and_with_everything_switched_on() {
    let text = template();
    let config = parse(&text).unwrap();
    assert_eq!(config.columns.len(), 1);
    // The commented keys show their defaults, or are for what is off.
    let is_setting = |line: &&str| {
        let key = line.split_once(" = ").map(|(key, _)| key);
        let is_key = |key: &str| key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        line.starts_with('[') || key.is_some_and(is_key)
    };
    let uncommented = |line| {
        str::strip_prefix(line, "# ")
            .filter(is_setting)
            .unwrap_or(line)
    };
    let all: Vec<&str> = text.lines().map(uncommented).collect();
    let all = parse(&all.join("\n")).unwrap();
    let debug = |config: &Config| {
        let (sample, batch) = (&config.sample, &config.batch);
        let (send, mqtt) = (&config.send, &config.mqtt);
        let timeout = config.server.timeout;
        format!("{sample:?}{batch:?}{send:?}{mqtt:?}{timeout:?}")
    };
    assert_eq!(debug(&all), debug(&config));
    assert_eq!(all.spool.max_bytes, config.spool.max_bytes);
    assert_eq!(all.expander(), config.expander());
    assert_eq!(all.plan(), config.plan());
    assert!(all.csv.is_some() && all.topics.is_some());
}

#[test]
fn every_error_names_its_key_and_says_what_to_do() {
    let replaced = |from: &str, to: &str| {
        assert!(GOOD.contains(from));
        GOOD.replace(from, to)
    };
    let added = |text: &str| replaced("[device]", &format!("{text}\n[device]"));
    for (text, words) in [
        (replaced("url", "uri"), "server"),
        (replaced("https://localhost:8443", "http://a"), "server.url"),
        (
            replaced("https://localhost:8443", "https://a/b"),
            "server.url",
        ),
        (replaced("key = \"device.tsbc\"", ""), "device.key"),
        (replaced("key = \"device.tsbc\"", "key = 5"), "device.key"),
        (
            replaced("key = \"device.tsbc\"", "key = \"a\"\nkey_base64 = \"a\""),
            "device.key_base64",
        ),
        (replaced("ca = \"ca.pem\"", ""), "tls.ca"),
        (replaced("key = \"device.key\"", ""), "tls.key"),
        (added("[batch]\nrows = 0"), "batch.rows"),
        (added("[batch]\nrows = -1"), "batch.rows"),
        (added("[batch]\nevery = \"0s\""), "batch.every"),
        (added("[sample]\nevery = \"fast\""), "sample.every"),
        (added("[sample]\nevery = 10"), "sample.every"),
        (added("[spool]\nmax_bytes = 1000"), "spool.max_bytes"),
        (added("[spool]\nwhen_full = \"burn\""), "spool.when_full"),
        (added("[send]\nretry_most = \"1ms\""), "send.retry_most"),
        (added("[mqtt]\nmax_packet = 100"), "mqtt.max_packet"),
        (added("[mqtt]\ntopic = \"a/#\""), "mqtt.topic"),
        (added("[metrics]\nlisten = \"0.0.0.0:9\""), "metrics.listen"),
        (added("[metrics]\nlisten = \"here\""), "metrics.listen"),
        (added("[topics]\nbroker = \"host\""), "topics.broker"),
        (added("[extra]\nkey = 1"), "extra"),
        (
            replaced("[device]", "[device]\nplan = \"x\""),
            "device.plan",
        ),
        (
            replaced("[device]", "[device]\nexpander = \"x\""),
            "device.expander",
        ),
        (replaced("bits = 8", "bits = 80"), "column"),
        (
            replaced("bits = 8", "bits = 8\nout_of_range = \"x\""),
            "out_of_range",
        ),
        (replaced("\"thermal\"", "\"quantum\""), "kind"),
        (replaced("\"cpu\"", "\"\""), "column 't', source"),
        (replaced("zone = \"cpu\"", "zone = \"cpu\", x = 1"), "x"),
        (
            replaced("kind = \"thermal\", zone = \"cpu\"", "kind = \"command\""),
            "column 't', source",
        ),
        (
            replaced("kind = \"thermal\", zone = \"cpu\"", "kind = \"csv\""),
            "csv.path",
        ),
        (
            replaced(
                "kind = \"thermal\", zone = \"cpu\"",
                "kind = \"mqtt\", topic = \"a\"",
            ),
            "topics.broker",
        ),
        (
            GOOD.split("[[column]]").next().unwrap().to_owned(),
            "column",
        ),
        (replaced("[device]", "[device"), "line"),
    ] {
        let error = parse(&text)
            .err()
            .unwrap_or_else(|| panic!("accepted:\n{text}"));
        assert!(error.to_string().contains(words), "no {words} in {error}");
        assert!(!error.advice().is_empty());
    }
    let mixed = format!(
        "{GOOD}\n[[column]]\nname = \"u\"\noffset = 0.0\nscale = 1.0\nbits = 4\nsource = {{ kind = \"csv\" }}\n[csv]\npath = \"x\"\n"
    );
    let error = parse(&mixed).err().unwrap();
    assert!(
        error.to_string().contains("'u'") && error.to_string().contains("'t'"),
        "{error}"
    );
}

/// The settings with more keys for the column.
fn column_with(keys: &str) -> Result<Config, AgentError> {
    parse(&GOOD.replace("bits = 8\n", &format!("bits = 8\n{keys}\n")))
}

#[test]
fn the_form_of_a_column_follows_from_its_use() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let form = |keys: &str, kind| {
        let under = Under {
            parameters: &parameters,
            kind,
        };
        let columns = column_with(keys).unwrap().columns_under(under)?;
        Ok::<_, AgentError>(columns[0].compact)
    };
    let form = |keys: &str| form(keys, UploadKind::Symmetric);
    let compact = |headroom, body_bits, feedback| {
        Some(Compact {
            headroom,
            body_bits,
            feedback,
        })
    };
    assert_eq!(form("").unwrap(), compact(14, 28, true));
    assert_eq!(form("use = \"means\"").unwrap(), compact(14, 28, true));
    let alarms = form("use = \"alarms\"").unwrap().unwrap();
    assert_eq!((alarms.headroom, alarms.feedback), (1, false));
    assert_eq!(form("use = \"radix\"").unwrap(), None);
    let numbers = "compact = { headroom = 14, body_bits = 30, feedback = true }";
    assert_eq!(form(numbers).unwrap(), compact(14, 30, true));
    let error = form(&format!("use = \"radix\"\n{numbers}")).unwrap_err();
    let words = format!("{error}; {}", error.advice());
    assert!(
        words.contains("'t'") && words.contains("one of them"),
        "{words}"
    );
}

#[test]
fn forms_that_cannot_be_are_refused() {
    for (keys, words) in [
        ("compact = { headroom = 14, body_bits = 20 }", "'t'"),
        ("compact = { headroom = 14 }", "body_bits"),
        ("compact = true", "compact"),
        ("use = \"mean\"", "means, alarms, fleet and radix"),
        ("use = 1", "use"),
        ("sue = \"means\"", "sue"),
    ] {
        let error = column_with(keys).err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn an_error_does_not_repeat_a_key() {
    let secret = "AAAAsecretAAAA";
    for text in [
        format!("[device]\nkey_base64 = \"\"\"\n{secret}\n\"\"\nurl = 1\n"),
        format!("[tls]\nkey_pem = {secret}\n"),
        GOOD.replace(
            "key = \"device.key\"",
            &format!("key_pem = \"{secret}\"\nkey = 5"),
        ),
    ] {
        let error = parse(&text).err().unwrap();
        assert!(!format!("{error:?} {error}").contains(secret), "{error}");
    }
    let config = parse(&GOOD.replace(
        "key = \"device.tsbc\"",
        &format!("key_base64 = \"{secret}\""),
    ));
    assert!(!format!("{:?}", config.unwrap()).contains(secret));
}

#[test]
fn the_environment_goes_before_the_file() {
    let config = with(&[
        ("TFHE_SBC_AGENT_SERVER_URL", "https://other:1"),
        ("TFHE_SBC_AGENT_BATCH_ROWS", "7"),
        ("TFHE_SBC_AGENT_DEVICE_KEY_BASE64", "AAEC"),
        ("TFHE_SBC_AGENT_SPOOL_DIRECTORY", "here"),
        ("TFHE_SBC_AGENT_CONFIG", "agent.toml"),
        ("HOME", "/root"),
    ])
    .unwrap();
    assert_eq!(config.server.url, "https://other:1");
    assert_eq!(config.batch.rows, 7);
    assert_eq!(*config.key_bytes().unwrap(), [0, 1, 2]);
    assert_eq!(config.spool_directory(), Path::new("/etc/x/here"));
    for (variable, value, words) in [
        ("TFHE_SBC_AGENT_SERVER_URI", "x", "sets nothing"),
        ("TFHE_SBC_AGENT_COLUMN_NAME", "x", "sets nothing"),
        ("TFHE_SBC_AGENT_BATCH_ROWS", "many", "no whole number"),
        ("TFHE_SBC_AGENT_BATCH_ROWS", "0", "batch.rows"),
        ("TFHE_SBC_AGENT_SERVER_URL", "ftp://x", "server.url"),
    ] {
        let error = with(&[(variable, value)]).err().unwrap();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_boards_file_holds_all_that_it_needs() {
    let provision = Provision {
        name: "hill",
        url: "https://localhost:1",
        device_key: &[7; 500],
        ca: "-----BEGIN A-----\nx\n-----END A-----\n",
        certificate: "cert",
        key: "secret",
        signing_key: None,
        columns: None,
    };
    let config = parse(&provision.settings()).unwrap();
    assert_eq!(*config.key_bytes().unwrap(), [7; 500]);
    let pems = config.tls.pems(&config.base).unwrap();
    let pems = pems.map(|named| String::from_utf8(named.pem.to_vec()).unwrap());
    assert_eq!(pems, [provision.ca, "cert\n", "secret\n"]);
    assert!(config.signing_key().unwrap().is_none());

    for algorithm in Algorithm::ALL {
        let key = SigningKey::generate(algorithm).unwrap().to_pem().unwrap();
        let signing = Provision {
            signing_key: Some(&key),
            ..provision
        };
        let config = parse(&signing.settings()).unwrap();
        let read = config.signing_key().unwrap().unwrap();
        assert_eq!(read.algorithm(), algorithm);
        assert_eq!(*read.to_pem().unwrap(), *key);
    }
}

#[test]
fn secrets_are_taken_out_of_the_table_and_come_back() {
    let text = format!("{GOOD}\n[topics]\nbroker = 'mqtt://h'\nuser = 'u'\npassword = 'secret'\n");
    let mut table: toml::Table = toml::from_str(&text).unwrap();
    let secrets = Secrets::take(&mut table);
    assert!(!format!("{table:?}").contains("secret"));
    let mut config: Config = table.try_into().unwrap();
    secrets.put(&mut config);
    let password = config.topics.unwrap().password.unwrap();
    assert_eq!(password.text(), "secret");
}

#[test]
fn a_key_at_the_wrong_place_is_not_repeated() {
    let refused = |text: &str| {
        let error = Config::parse(text, Path::new("."), []).unwrap_err();
        let words = format!("{error} {}", error.advice());
        assert!(!words.contains("hidden"), "{words}");
        words
    };
    let words =
        refused("[server]\nurl = 'https://h'\ntimeout = 5\n[batch]\nrows = 'hidden, expected `x'");
    assert!(
        words.contains("rows") || words.contains("timeout"),
        "{words}"
    );
    let words = refused(
        "[server]\nurl = 'https://h'\n[batch]\nrows = 'hidden, expected `x'\n[device]\nkey='k'\n[tls]\nca = 'c'",
    );
    assert!(
        words.contains("rows") && words.contains("expected"),
        "{words}"
    );
    let tls = "[tls]\nca = 'c'\ncertificate = 'c'\nkey = \"-----BEGIN\\nhidden\"";
    let words = refused(&format!(
        "[server]\nurl = 'https://h'\n[device]\nkey = 'k'\n{tls}"
    ));
    assert!(
        words.contains("tls.key") && words.contains("_pem"),
        "{words}"
    );
}
