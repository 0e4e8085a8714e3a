//! Events of ChirpStack, version 4, in JSON: what its MQTT integration publishes of a device's uplink under
//! `application/APPLICATION/device/DEVEUI/event/up`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tfhe_sbc_frames::DeviceId;

use super::FrameRefusal;

/// The fields of an event that count. There are many others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    device_info: DeviceInfo,
    f_port: Option<u8>,
    data: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeviceInfo {
    dev_eui: String,
}

/// Returns the board and the frame of an event. `None` if the event has no data, or if those are of another port
/// than `port`.
pub(super) fn uplink(
    event: &[u8],
    port: Option<u8>,
) -> Result<Option<(DeviceId, Vec<u8>)>, FrameRefusal> {
    let event: Event = serde_json::from_slice(event)
        .map_err(|_| FrameRefusal::Event("it is no JSON with deviceInfo.devEui, fPort and data"))?;
    let Some(data) = event.data.filter(|data| !data.is_empty()) else {
        return Ok(None);
    };
    if port.is_some() && event.f_port != port {
        return Ok(None);
    }
    let board = event.device_info.dev_eui.parse();
    let board = board.map_err(|_| FrameRefusal::Event("its devEui is no 16 hexadecimal digits"))?;
    let frame = STANDARD.decode(data);
    let frame = frame.map_err(|_| FrameRefusal::Event("its data are no Base64"))?;
    Ok(Some((board, frame)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event as ChirpStack 4 publishes it, shortened at the radio's details.
    const EVENT: &str = r#"{"deduplicationId":"57433366-50a6-4dc2-8145-2df1bbc70d9e","time":"2026-03-07T09:12:43.112+00:00",
        "deviceInfo":{"tenantId":"52f14cd4-c6f1-4fbd-8f87-4025e1d49242","tenantName":"ChirpStack",
        "applicationId":"ca739e26-7b67-4f14-b69e-d568c22a5a75","applicationName":"levels","deviceProfileId":"605d08d4-65f5-4d2c-8a5a-3d2457662f79",
        "deviceProfileName":"class A","deviceName":"hill","devEui":"70B3d57ed0001234","tags":{"key":"value"}},
        "devAddr":"00189440","adr":true,"dr":1,"fCnt":4,"fPort":85,"confirmed":false,"data":"bQEAAA==",
        "rxInfo":[{"gatewayId":"0016c001f153a14c","rssi":-48,"snr":9.0}],"txInfo":{"frequency":868100000}}"#;

    #[test]
    fn an_uplink_gives_board_and_frame() {
        let board = DeviceId([0x70, 0xb3, 0xd5, 0x7e, 0xd0, 0x00, 0x12, 0x34]);
        for port in [None, Some(85)] {
            let found = uplink(EVENT.as_bytes(), port).unwrap();
            assert_eq!(found, Some((board, vec![0x6d, 1, 0, 0])));
        }
        assert_eq!(uplink(EVENT.as_bytes(), Some(2)).unwrap(), None);
        // Without a payload an uplink is for the network only.
        let empty = EVENT.replace("\"data\":\"bQEAAA==\",", "");
        assert_eq!(uplink(empty.as_bytes(), None).unwrap(), None);
    }

    #[test]
    fn what_is_no_uplink_is_refused() {
        for (from, to) in [
            ("70B3d57ed0001234", "70B3d57ed000123"),
            ("70B3d57ed0001234", "70B3d57ed000123g"),
            ("bQEAAA==", "bQEAAA="),
            ("bQEAAA==", "?"),
            ("\"devEui\"", "\"deveui\""),
            ("\"fPort\":85", "\"fPort\":850"),
            ("{", "["),
        ] {
            let event = EVENT.replace(from, to);
            let refused = uplink(event.as_bytes(), None);
            assert!(matches!(refused, Err(FrameRefusal::Event(_))), "{to}");
        }
        for len in 0..EVENT.len() {
            assert!(uplink(&EVENT.as_bytes()[..len], None).is_err());
        }
    }
}
