use sim_core::Time;
use validation::harness::Simulation;
fn main() {
    let json = std::fs::read_to_string("/tmp/val/current.json").unwrap();
    let mut s = Simulation::new(&json, &[]).unwrap();
    let ms: u64 = std::env::args().nth(1).map_or(20, |a| a.parse().unwrap());
    for i in 1..ms {
        s.fabric.run_until(Time(i * 1_000_000_000));
        let c = s.fabric.counters();
        println!(
            "{i} ms events {} hops {} done {} of {} retx {} naks {} timeouts {} drops {:?} pauses {} inside {} cnp {}",
            c.events,
            c.packet_hops,
            s.fabric.completed(),
            s.fabric.flows().len(),
            c.retransmissions,
            c.naks,
            c.timeouts,
            c.drops,
            c.pause_frames,
            s.fabric.packets_inside(),
            c.cnp_received
        );
    }
    for i in 0..s.fabric.flows().len() {
        println!(
            "{i} {:?} delivered {} rate {}",
            s.fabric.flow_states()[i],
            s.fabric.delivered(i as u32),
            s.fabric.allowed_rate(i as u32)
        );
    }
}
