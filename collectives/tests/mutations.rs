//! The proof fails, and says where, when a schedule is broken in one place.

use collectives::algorithms::build;
use collectives::check::{Blocked, CheckError, Wait, check, validate};
use collectives::plan::{Plan, Ranks};
use collectives::schedule::{
    Algorithm, Buffer, CollectiveSchedule, Connection, Operation, Path, Protocol, Role, Step,
};
use proptest::prelude::*;

fn schedule(algorithm: Algorithm, operation: Operation) -> CollectiveSchedule {
    let per_node = if algorithm == Algorithm::Pat { 1 } else { 4 };
    let ranks = Ranks { nodes: 8 / per_node, per_node };
    build(&Plan::ideal(algorithm, operation, ranks, 8 << 20, 2, Protocol::Simple)).unwrap()
}

/// One case of each family.
const CASES: [(Algorithm, Operation); 8] = [
    (Algorithm::Ring, Operation::AllReduce),
    (Algorithm::Ring, Operation::AllGather),
    (Algorithm::DoubleTree, Operation::AllReduce),
    (Algorithm::NvlsTree, Operation::AllReduce),
    (Algorithm::CollnetDirect, Operation::AllReduce),
    (Algorithm::Pat, Operation::ReduceScatter),
    (Algorithm::HalvingDoubling, Operation::AllReduce),
    (Algorithm::Pairwise, Operation::AllToAll),
];

fn ring() -> CollectiveSchedule {
    schedule(Algorithm::Ring, Operation::AllReduce)
}

/// The error of the schedule after a change.
fn broken(mut schedule: CollectiveSchedule, change: impl FnOnce(&mut CollectiveSchedule)) -> CheckError {
    assert_eq!(check(&schedule).err(), None, "the schedule is right before the change");
    change(&mut schedule);
    check(&schedule).expect_err("the proof holds for a broken schedule")
}

#[test]
fn a_dropped_receive_and_send_is_a_deadlock_that_names_who_waits_for_whom() {
    let leaf = |s: &CollectiveSchedule| {
        s.threads.iter().position(|t| t.role == Role::Up && t.steps[0].receive.is_empty()).unwrap()
    };
    let tree = schedule(Algorithm::DoubleTree, Operation::AllReduce);
    let (at, connection) = (leaf(&tree), tree.threads[leaf(&tree)].steps[0].send[0]);
    let rank = tree.threads[at].rank;
    let error = broken(tree, |s| s.threads[at].steps[0].send.clear());
    let CheckError::Deadlock { channel: 0, blocked, .. } = &error else { panic!("{error}") };
    let waits = |b: &&Blocked| b.wait == Wait::Message(connection) && b.peer == rank;
    assert!(blocked.iter().any(|b| waits(&b)), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("channel 0 deadlocks"), "{text}");
    assert!(text.contains("waits for a message from rank"), "{text}");
}

#[test]
fn any_dropped_step_is_found() {
    for (algorithm, operation) in CASES {
        let whole = schedule(algorithm, operation);
        for thread in 0..whole.threads.len() {
            for step in 0..whole.threads[thread].steps.len() {
                broken(whole.clone(), |s| drop(s.threads[thread].steps.remove(step)));
            }
        }
    }
}

#[test]
fn a_dropped_receive_leaves_messages() {
    let error = broken(schedule(Algorithm::Ring, Operation::Broadcast), |s| {
        let last = s.threads.iter().position(|t| t.channel == 0 && t.steps[0].send.is_empty()).unwrap();
        s.threads.remove(last);
    });
    // The connection fills up or keeps its messages.
    assert!(matches!(error, CheckError::Deadlock { .. } | CheckError::Unmatched { .. }), "{error}");
    let error = broken(schedule(Algorithm::Pairwise, Operation::AllToAll), |s| {
        let last = s.threads.iter().rposition(|t| t.role == Role::Receive).unwrap();
        s.threads[last].steps.pop();
    });
    assert!(matches!(error, CheckError::Unmatched { messages: 1.., .. }), "{error}");
}

#[test]
fn a_swapped_block_ends_where_it_does_not_belong() {
    let error = broken(schedule(Algorithm::Ring, Operation::AllGather), |s| {
        let steps = &mut s.threads[2].steps;
        let block = steps[1].block;
        steps[1].block = steps[2].block;
        steps[2].block = block;
    });
    assert!(matches!(error, CheckError::Foreign { .. }), "{error}");
    let error = broken(schedule(Algorithm::Pairwise, Operation::AllToAll), |s| {
        let of_rank = |t: &(usize, &collectives::schedule::Thread)| t.1.rank == 3 && t.1.role == Role::Send;
        let sends: Vec<usize> = s.threads.iter().enumerate().filter(of_rank).map(|(i, _)| i).collect();
        let block = s.threads[sends[1]].steps[0].block;
        s.threads[sends[1]].steps[0].block = s.threads[sends[2]].steps[0].block;
        s.threads[sends[2]].steps[0].block = block;
    });
    assert!(matches!(error, CheckError::Foreign { operation: Operation::AllToAll, .. }), "{error}");
}

#[test]
fn a_contribution_added_twice_is_named() {
    // The rank adds its own block again while the sums go around.
    let error = broken(ring(), |s| s.threads[5].steps[3].source = Some(Buffer::Input));
    let rank = ring().threads[5].rank;
    let CheckError::Duplicate { thread: 5, step: 3, rank: r, .. } = error else { panic!("{error}") };
    assert_eq!(r, rank);
    assert!(error.to_string().contains(&format!("rank {rank}'s contribution")), "{error}");
}

#[test]
fn a_contribution_left_out_is_named() {
    let error = broken(schedule(Algorithm::DoubleTree, Operation::AllReduce), |s| {
        let up = s.threads.iter_mut().find(|t| t.role == Role::Up && !t.steps[0].receive.is_empty()).unwrap();
        up.steps[0].source = None;
    });
    assert!(matches!(error, CheckError::Missing { .. }), "{error}");
    let error = broken(schedule(Algorithm::NvlsTree, Operation::AllReduce), |s| {
        let take = s.threads.iter_mut().find(|t| t.role == Role::Gather).unwrap();
        take.steps[0].store = false;
    });
    assert!(matches!(error, CheckError::Missing { block: 0, .. }), "{error}");
}

#[test]
fn slots_that_are_too_few_deadlock() {
    let error = broken(ring(), |s| {
        for connection in &mut s.connections {
            connection.slots = s.channels[0].slices;
        }
    });
    let CheckError::Deadlock { threads: 8, ref blocked, .. } = error else { panic!("{error}") };
    assert!(blocked.iter().all(|b| matches!(b.wait, Wait::Slot(_))), "{error}");
}

#[test]
fn a_circle_of_first_receives_deadlocks() {
    let error = broken(schedule(Algorithm::HalvingDoubling, Operation::AllReduce), |s| {
        for thread in &mut s.threads {
            thread.steps[..2].reverse();
        }
    });
    assert!(matches!(error, CheckError::Step { .. } | CheckError::Deadlock { .. }), "{error}");
}

#[test]
fn sizes_that_differ_are_named() {
    let error = broken(schedule(Algorithm::HalvingDoubling, Operation::AllReduce), |s| {
        s.threads[0].steps[0].span -= 1;
    });
    assert!(matches!(error, CheckError::Size { .. }), "{error}");
}

#[test]
fn channels_that_overlap_or_leave_a_gap_are_named() {
    let error = broken(ring(), |s| s.channels[1].offset -= 16);
    assert!(matches!(error, CheckError::Tiling { twice: true, .. }), "{error}");
    let error = broken(ring(), |s| s.channels[1].offset += 16);
    assert!(matches!(error, CheckError::Tiling { twice: false, at: 4_194_304, .. }), "{error}");
    let error = broken(ring(), |s| s.bytes += 1);
    assert_eq!(error.to_string(), "the data: no channel moves byte 8388608");
    let error = broken(ring(), |s| s.channels[0].last_chunk -= 16);
    assert!(matches!(error, CheckError::Channel { channel: 0, .. }), "{error}");
    let error = broken(schedule(Algorithm::Pairwise, Operation::AllToAll), |s| {
        // One of the channels that share out the peers moves less than the whole block.
        s.channels[1].bytes -= 16;
    });
    assert!(matches!(error, CheckError::Tiling { twice: false, .. }), "{error}");
}

#[test]
fn a_member_missing_from_a_reduction_in_the_network_is_waited_for() {
    let error = broken(schedule(Algorithm::CollnetChain, Operation::AllReduce), |s| {
        let sends = |t: &&mut collectives::schedule::Thread, c: &[Connection]| {
            t.steps[0].send.iter().any(|i| matches!(c[*i as usize].path, Path::InNetwork { .. }))
        };
        let connections = s.connections.clone();
        s.threads.iter_mut().find(|t| sends(t, &connections)).unwrap().steps[0].send.clear();
    });
    assert!(matches!(error, CheckError::Deadlock { .. }), "{error}");
}

#[test]
fn a_read_of_what_another_thread_writes_is_a_race() {
    let error = broken(schedule(Algorithm::DoubleTree, Operation::AllReduce), |s| {
        let down = s.threads.iter_mut().find(|t| t.role == Role::Up).unwrap();
        down.steps[0].source = Some(Buffer::Output);
    });
    assert!(matches!(error, CheckError::Step { .. }), "{error}");
}

#[test]
fn what_does_not_exist_is_refused() {
    type Change = fn(&mut CollectiveSchedule);
    let changes: [(&str, Change); 14] = [
        ("schedule format 2: this build reads 1", |s| s.version = 2),
        ("the schedule has no ranks", |s| s.ranks = 0),
        ("root 9 is not a rank", |s| s.root = 9),
        ("no channels", |s| s.channels.clear()),
        ("chunk is 0", |s| s.channels[0].chunk = 0),
        ("loops hold", |s| s.channels[0].loops = u32::MAX),
        ("order is given", |s| s.channels[0].order = vec![0]),
        ("channel 7: there are 2", |s| s.connections[0].channel = 7),
        ("to rank 8: there are 8", |s| s.connections[0].to = 8),
        ("slots is 0", |s| s.connections[0].slots = 0),
        ("block 8: a loop has 8", |s| s.threads[0].steps[0].block = 8),
        ("meets a block twice", |s| s.threads[0].steps[0].span = 9),
        ("neither receives nor has a source", |s| s.threads[0].steps.push(Step::new(0))),
        ("sends on connection 99", |s| s.threads[0].steps[0].send = vec![99]),
    ];
    for (text, change) in changes {
        let error = broken(ring(), change);
        assert!(error.to_string().contains(text), "{error} does not say: {text}");
    }
}

/// A change of one number or list of a schedule.
fn mutate(s: &mut CollectiveSchedule, kind: u8, at: usize, value: u32) {
    let t = at % s.threads.len();
    let thread = &mut s.threads[t];
    let step = at / 7 % thread.steps.len();
    let step = &mut thread.steps[step];
    let connection = at % s.connections.len();
    let channel = at % s.channels.len();
    match kind {
        0 => step.block = value,
        1 => step.repeat = value,
        2 => step.span = value,
        3 => step.stride = value as i32,
        4 => step.receive = vec![value],
        5 => step.send = vec![value],
        6 => step.store = !step.store,
        7 => step.source = [None, Some(Buffer::Input), Some(Buffer::Output)][value as usize % 3],
        8 => step.span_stride = value,
        9 => s.connections[connection].from = value,
        10 => s.connections[connection].to = value,
        11 => s.connections[connection].slots = value,
        12 => s.connections[connection].path = Path::InNetwork { group: value, nic: 0 },
        13 => s.channels[channel].chunk = value.into(),
        14 => s.channels[channel].loops = value,
        15 => s.channels[channel].blocks = value,
        16 => s.channels[channel].slices = value,
        17 => s.channels[channel].min_slice = value.into(),
        18 => s.channels[channel].bytes = u64::from(value) << (at % 30),
        19 => s.channels[channel].order = vec![value],
        20 => s.ranks = value,
        21 => s.root = value,
        22 => s.bytes = u64::from(value) << (at % 40),
        23 => s.threads[t].rank = value,
        24 => s.threads[t].channel = value,
        25 => drop(s.threads.remove(t)),
        26 => s.channels[channel].offset = u64::MAX - u64::from(value),
        27 => s.connections[connection].channel = value,
        _ => s.channels[channel].last_chunk = value.into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// Whatever numbers a schedule has, the checker answers and does not panic.
    #[test]
    fn no_schedule_makes_the_checker_panic(
        which in 0usize..8,
        changes in prop::collection::vec(
            (0u8..29, any::<usize>(), prop_oneof![0u32..20, Just(u32::MAX), Just(1 << 31), 0u32..2000]),
            1..4,
        ),
    ) {
        let (algorithm, operation) = CASES[which];
        let mut schedule = schedule(algorithm, operation);
        for (kind, at, value) in changes {
            if schedule.threads.is_empty() || schedule.channels.is_empty() {
                break;
            }
            mutate(&mut schedule, kind, at, value);
        }
        if validate(&schedule).is_ok() {
            let _ = check(&schedule);
            let _ = collectives::describe(&schedule, 3);
        }
    }

    /// Any JSON either is a schedule that can be checked, or is refused.
    #[test]
    fn no_json_makes_the_reader_panic(cut in any::<usize>(), byte in any::<u8>()) {
        let ranks = Ranks { nodes: 1, per_node: 2 };
        let plan = Plan::ring(Operation::AllReduce, ranks, 64, 1, Protocol::Simple);
        let mut text = serde_json::to_vec(&build(&plan).unwrap()).unwrap();
        let at = cut % text.len();
        text[at] = byte;
        if let Ok(schedule) = serde_json::from_slice::<CollectiveSchedule>(&text) {
            let _ = check(&schedule);
        }
    }
}
