//! How an engine was started is read from a recording as it was.

use config::SchedulerSettings;
use gates::{Gate, Gates};
use model::timestamp::Timestamp;
use scheduling::recording::{EngineStart, Line, StartSettings};
use scheduling::settings;

#[test]
fn settings_that_were_recorded_are_those_of_the_configuration() {
    let gates = Gates::default().with(Gate::GenericWorkload, true).with(Gate::DRADeviceTaints, false);
    let body = "podInitialBackoffSeconds: 3\npodMaxBackoffSeconds: 70\nprofiles:\n\
                - schedulerName: packing\n  plugins:\n    multiPoint:\n      disabled: [{name: ImageLocality}]\n    \
                  score:\n      enabled: [{name: TaintToleration, weight: 7}]\n  pluginConfig:\n  \
                  - name: NodeResourcesFit\n    args:\n      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 2}]}\n\
                - schedulerName: other\n";
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    for text in [format!("{head}{body}"), head.to_owned()] {
        let file = SchedulerSettings::read(&text, gates).expect("the file is good");
        let recorded = StartSettings::Configuration(file.document());
        let start = EngineStart::new(Timestamp::from_micros(7), 1, gates, recorded);
        let mut line = Vec::new();
        Line::Start(start).write(&mut line);
        let Line::Start(read) = Line::read(&line).expect("it was written") else {
            panic!("it is a start");
        };
        assert_eq!(read.features().expect("they are known"), gates);
        let again = read.settings().expect("they mean something");
        assert_eq!(format!("{again:?}"), format!("{:?}", settings(&file, gates)));
    }
}
