//! From a workload to arrays: connections become streams, schedules become threads and steps.

use std::collections::HashMap;

use collectives::CollectiveSchedule;
use collectives::schedule::{Path, SCHEDULE_VERSION};
use sim_core::{Bytes, Time};

use super::steady::Steady;
use super::{CallState, Collectives, Connection, Gpu, Group, Line, NONE, Owner, SLOTS, Slot, State, Step};
use super::{TaskState, Thread};
use crate::config::Operation;
use crate::traffic::Flow;
use crate::workload::{Call, TaskTimes, Transport, Work, Workload};

/// Why a workload cannot run on a fabric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// More NICs than hosts.
    #[error(
        "the workload needs {nodes} nodes with {nics} NICs of {planes} port(s) each, but the topology has {hosts} hosts: \
         give it {needed} hosts, one a port, or use fewer nodes"
    )]
    TooFewHosts {
        /// Nodes.
        nodes: u32,
        /// NICs of a node.
        nics: u32,
        /// Ports of a NIC.
        planes: u32,
        /// Hosts of the topology.
        hosts: u32,
        /// Hosts needed.
        needed: u64,
    },
    /// A schedule that names what is not there.
    #[error("call \"{call}\": {why}")]
    Schedule {
        /// The call.
        call: String,
        /// What is wrong.
        why: String,
    },
    /// A task that cannot run.
    #[error("task {task}: {why}")]
    Task {
        /// Its index.
        task: usize,
        /// What is wrong.
        why: String,
    },
    /// A recovery scheme that needs message bounds at the receiver.
    #[error("nic.recovery go-back-0 cannot carry collectives: use go-back-n or selective-repeat")]
    GoBack0,
}

/// What tells connections apart: communicator, channel, ends, path, which of equals in the schedule, and slots.
type Key = (u32, u32, u32, u32, (u8, u32, u32, u32), u32, u32);

/// Builds the arrays of `workload`; its streams are appended to `flows`.
pub(in crate::fabric) fn compile(
    workload: Workload,
    hosts: u32,
    flows: &mut Vec<Flow>,
) -> Result<Collectives, WorkloadError> {
    let Workload { machine, calls, tasks } = workload;
    let nodes = machine.gpus.div_ceil(machine.gpus_per_node.max(1));
    let planes = machine.planes.max(1);
    let needed = u64::from(nodes) * u64::from(machine.nics_per_node) * u64::from(planes);
    if needed > u64::from(hosts) {
        let nics = machine.nics_per_node;
        return Err(WorkloadError::TooFewHosts { nodes, nics, planes, hosts, needed });
    }
    let mut build = Build {
        finite: flows.len() as u32,
        flows,
        gpus_per_node: machine.gpus_per_node,
        nics_per_node: machine.nics_per_node,
        planes,
        gpus: machine.gpus,
        known: HashMap::new(),
        groups: HashMap::new(),
        connections: Vec::new(),
        slots: 0,
        nics: Vec::new(),
        owners: Vec::new(),
        posts: Vec::new(),
        group_list: Vec::new(),
    };
    let mut out = Collectives::default();
    let (mut threads, mut steps, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    for (index, call) in calls.iter().enumerate() {
        let wrong = |why: String| WorkloadError::Schedule { call: call.name.clone(), why };
        check(call, machine.gpus, planes).map_err(wrong)?;
        let ids = build.connections_of(call).map_err(wrong)?;
        let first_channel = out.channels.len() as u32;
        out.channels.extend(call.schedule.channels.iter().cloned());
        out.calls.push(compile_call(
            index as u32,
            call,
            first_channel,
            &ids,
            (&mut threads, &mut steps, &mut lists),
        ));
    }
    (out.tasks, out.dependents) = compile_tasks(&tasks, &calls, machine.gpus)?;
    out.slots = vec![Slot::default(); build.slots as usize].into();
    out.connections = build.connections.into();
    out.owners = build.owners.into();
    out.posts = build.posts;
    out.groups = build.group_list;
    out.gpus = vec![Gpu::default(); machine.gpus as usize].into();
    (out.threads, out.steps, out.lists) = (threads.into(), steps.into(), lists.into());
    out.machine = Some(machine);
    Ok(out)
}

/// Every index of a schedule is in range.
fn check(call: &Call, gpus: u32, planes: u32) -> Result<(), String> {
    let CollectiveSchedule { version, ranks, channels, connections, threads, .. } = &call.schedule;
    if *version != SCHEDULE_VERSION {
        return Err(format!("its schedule has version {version}; this build reads {SCHEDULE_VERSION}"));
    }
    if call.members.len() != *ranks as usize {
        return Err(format!("it has {ranks} ranks and {} members", call.members.len()));
    }
    if let Some(gpu) = call.members.iter().find(|gpu| **gpu >= gpus) {
        return Err(format!("it has GPU {gpu} as a member; there are {gpus}"));
    }
    if call.thread_rates.len() != threads.len() {
        return Err(format!("{} thread rates for {} threads", call.thread_rates.len(), threads.len()));
    }
    let qps = u32::from(call.transport.qps) * planes;
    if qps == 0 || qps > SLOTS as u32 {
        return Err(format!("{qps} queue pairs a connection; from 1 to {SLOTS} are possible"));
    }
    for connection in connections {
        if connection.from >= *ranks
            || connection.to >= *ranks
            || connection.channel as usize >= channels.len()
            || connection.slots == 0
            || connection.slots as usize > SLOTS
        {
            return Err(format!("a connection is out of range: {connection:?}"));
        }
    }
    for thread in threads {
        let bad = |id: &u32| *id as usize >= connections.len();
        if thread.rank >= *ranks
            || thread.channel as usize >= channels.len()
            || thread.steps.iter().any(|step| step.receive.iter().chain(&step.send).any(bad))
        {
            return Err(format!("a thread of rank {} is out of range", thread.rank));
        }
    }
    Ok(())
}

/// Connections while they are collected.
struct Build<'a> {
    finite: u32,
    flows: &'a mut Vec<Flow>,
    gpus: u32,
    gpus_per_node: u32,
    nics_per_node: u32,
    planes: u32,
    known: HashMap<Key, u32>,
    groups: HashMap<(u32, u32, u32), u32>,
    connections: Vec<Connection>,
    slots: u32,
    /// The NIC each connection leaves by.
    nics: Vec<u32>,
    owners: Vec<Owner>,
    posts: Vec<u32>,
    group_list: Vec<Group>,
}

impl Build<'_> {
    /// The connection of each connection of `call`'s schedule.
    fn connections_of(&mut self, call: &Call) -> Result<Vec<u32>, String> {
        let mut seen: HashMap<Key, u32> = HashMap::new();
        let mut ids = Vec::with_capacity(call.schedule.connections.len());
        let mut members: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
        for connection in &call.schedule.connections {
            let (from, to) = (call.members[connection.from as usize], call.members[connection.to as usize]);
            let path = match connection.path {
                Path::Local => (0, 0, 0, NONE),
                Path::NvlsReduce => (1, 0, 0, NONE),
                Path::NvlsMulticast => (2, 0, 0, NONE),
                Path::Network { from_nic, to_nic, relay } => (
                    3,
                    from_nic,
                    to_nic,
                    relay.map_or(NONE, |rank| call.members.get(rank as usize).copied().unwrap_or(from)),
                ),
                Path::InNetwork { group, nic } => (4, nic, group, NONE),
            };
            let mut key = (call.communicator, connection.channel, from, to, path, 0, connection.slots);
            let order = seen.entry(key).or_default();
            key.5 = *order;
            *order += 1;
            let id = match self.known.get(&key) {
                Some(id) => *id,
                None => {
                    let id = self.add(call, (from, to), path, connection.slots)?;
                    self.known.insert(key, id);
                    id
                }
            };
            if let Path::InNetwork { group, .. } = connection.path {
                members.entry((connection.channel, group)).or_default().push(id);
            }
            ids.push(id);
        }
        let mut groups: Vec<_> = members.into_iter().collect();
        groups.sort_unstable();
        for ((channel, group), members) in groups {
            self.join(call, (channel, group), members)?;
        }
        Ok(ids)
    }

    /// The host of the first port of a NIC.
    fn host(&self, gpu: u32, nic: u32) -> Result<u32, String> {
        if nic >= self.nics_per_node {
            return Err(format!("it uses NIC {nic} of a node that has {}", self.nics_per_node));
        }
        Ok((gpu / self.gpus_per_node * self.nics_per_node + nic) * self.planes)
    }

    fn add(
        &mut self,
        call: &Call,
        (from, to): (u32, u32),
        path: (u8, u32, u32, u32),
        slots: u32,
    ) -> Result<u32, String> {
        let id = self.connections.len() as u32;
        let (kind, a, b, relay) = path;
        let same_node = from / self.gpus_per_node == to / self.gpus_per_node;
        let line = match kind {
            0 => Line::Local,
            1 => Line::Reduce,
            2 => Line::Multicast,
            3 => Line::Network,
            _ => Line::InNetwork,
        };
        if line != Line::Network && !same_node {
            return Err(format!(
                "GPUs {from} and {to} are in different nodes but joined by NVLink in its schedule"
            ));
        }
        if relay != NONE && (relay >= self.gpus || relay / self.gpus_per_node != from / self.gpus_per_node) {
            return Err(format!("GPU {from} relays through GPU {relay}, which is not in its node"));
        }
        let mut connection = Connection {
            line,
            from,
            to,
            proxy: if relay == NONE { from } else { relay },
            qp: 0,
            cts_qp: 0,
            qps: call.transport.qps * self.planes as u8,
            split: call.transport.split || self.planes > 1,
            slots,
            first_slot: self.slots,
            slot_mask: slots.next_power_of_two() - 1,
            group: NONE,
            sent: 0,
            posted: 0,
            acked: 0,
            host_copy_rate: call.transport.host_copy_rate.unwrap_or(0),
            announce_above: call.transport.announce_above.unwrap_or(u64::MAX),
            granted: slots,
            arrived: 0,
            consumed: 0,
            waiting_sender: NONE,
            waiting_receiver: NONE,
            post: 0,
            post_pending: false,
        };
        if line == Line::Network {
            let (src, dst) = (self.host(from, a)?, self.host(to, b)?);
            if src == dst {
                return Err(format!("GPUs {from} and {to} would send from a NIC to itself"));
            }
            connection.qp = self.flows.len() as u32;
            for part in 0..connection.qps {
                self.stream(id, part, false, (src, dst), &call.transport);
            }
            connection.cts_qp = self.flows.len() as u32;
            self.stream(id, 0, true, (dst, src), &call.transport);
        }
        if matches!(line, Line::Network | Line::InNetwork) {
            connection.post = self.posts.len() as u32;
            self.posts.push(id);
        }
        self.slots += slots.next_power_of_two();
        self.connections.push(connection);
        self.nics.push(a);
        Ok(id)
    }

    fn stream(&mut self, id: u32, part: u8, clear_to_send: bool, ends: (u32, u32), transport: &Transport) {
        debug_assert_eq!(self.flows.len(), self.finite as usize + self.owners.len());
        let first = if transport.split || self.planes > 1 { 0 } else { u32::from(part) };
        let plane = u32::from(part) % self.planes;
        self.owners.push(Owner {
            connection: id,
            part,
            clear_to_send,
            message: first,
            writes: 0,
            acked: first,
            acked_writes: 0,
        });
        self.flows.push(Flow {
            src: ends.0 + plane,
            dst: ends.1 + plane,
            size: Bytes(1),
            messages: 1,
            start: Time::ZERO,
            class: transport.class,
            dscp: transport.dscp,
            operation: Operation::Write,
            rate: if clear_to_send { None } else { transport.rate },
            ttl: 63,
            paths: vec![],
        });
    }

    /// Joins the members of an in-network reduction. Each member's messages travel to the next member's NIC: NICs and the
    /// links to them carry what they would; links between switches carry at least what they would.
    fn join(&mut self, call: &Call, key: (u32, u32), members: Vec<u32>) -> Result<(), String> {
        let key = (call.communicator, key.0, key.1);
        if self.groups.contains_key(&key) {
            return Ok(());
        }
        let group = self.group_list.len() as u32;
        self.groups.insert(key, group);
        let mut hosts = Vec::with_capacity(members.len());
        for &id in &members {
            hosts.push(self.host(self.connections[id as usize].from, self.nics[id as usize])?);
        }
        for (i, &id) in members.iter().enumerate() {
            let (src, dst) = (hosts[i], hosts[(i + 1) % hosts.len()]);
            if src == dst {
                return Err("an in-network reduction needs NICs of at least two nodes".to_string());
            }
            let first = self.flows.len() as u32;
            for part in 0..self.connections[id as usize].qps {
                self.stream(id, part, false, (src, dst), &call.transport);
            }
            let connection = &mut self.connections[id as usize];
            connection.qp = first;
            connection.group = group;
        }
        self.group_list.push(Group { members, arrived: [0; SLOTS] });
        Ok(())
    }
}

type Arrays<'a> = (&'a mut Vec<Thread>, &'a mut Vec<Step>, &'a mut Vec<u32>);

fn compile_call(
    index: u32,
    call: &Call,
    first_channel: u32,
    ids: &[u32],
    (threads, steps, lists): Arrays,
) -> CallState {
    let schedule = &call.schedule;
    let mut order: Vec<usize> = (0..schedule.threads.len()).collect();
    order.sort_by_key(|&t| schedule.threads[t].rank);
    let mut ranks = vec![(0u32, 0u32); schedule.ranks as usize];
    let loops = schedule.channels.iter().filter(|c| c.bytes > 0).map(|c| c.loops);
    let (longest, shortest) = (loops.clone().max().unwrap_or(0), loops.min().unwrap_or(0));
    let mut through = vec![0u32; if call.may_skip { longest as usize } else { 0 }];
    for t in order {
        let thread = &schedule.threads[t];
        let channel = &schedule.channels[thread.channel as usize];
        let range = &mut ranks[thread.rank as usize];
        if range.1 == 0 {
            range.0 = threads.len() as u32;
        }
        range.1 += 1;
        if call.may_skip && channel.bytes > 0 && !thread.steps.is_empty() {
            through.iter_mut().take(channel.loops as usize).for_each(|count| *count += 1);
        }
        let first_step = steps.len() as u32;
        for step in &thread.steps {
            let mut list = |from: &[u32]| {
                let first = lists.len() as u32;
                lists.extend(from.iter().map(|&id| ids[id as usize]));
                (first, from.len() as u16)
            };
            steps.push(Step {
                repeat: step.repeat,
                block: step.block,
                stride: step.stride,
                span: step.span,
                receive: list(&step.receive),
                send: list(&step.send),
            });
        }
        threads.push(Thread {
            call: index,
            rank: thread.rank,
            channel: first_channel + thread.channel,
            first_step,
            last_step: steps.len() as u32,
            rate: call.thread_rates[t],
            state: State::Idle,
            pending: false,
            looped: 0,
            step: first_step,
            repetition: 0,
            left: 0,
            slice: 0,
        });
    }
    CallState {
        protocol: schedule.protocol,
        timing: call.timing,
        network_side: 0,
        connections: ids.to_vec(),
        running: vec![(0, NONE); ranks.len()],
        ranks,
        steady: Steady::new(through, shortest),
    }
}

fn compile_tasks(
    tasks: &[crate::workload::Task],
    calls: &[Call],
    gpus: u32,
) -> Result<(Vec<TaskState>, Vec<u32>), WorkloadError> {
    let mut following: Vec<Vec<u32>> = vec![Vec::new(); tasks.len()];
    for (index, task) in tasks.iter().enumerate() {
        let wrong = |why: String| WorkloadError::Task { task: index, why };
        if task.gpu >= gpus {
            return Err(wrong(format!("it is for GPU {}; there are {gpus}", task.gpu)));
        }
        if let Work::Call { call, rank } = task.work {
            let member = calls.get(call as usize).and_then(|c| c.members.get(rank as usize));
            if member != Some(&task.gpu) {
                return Err(wrong(format!("GPU {} is not rank {rank} of call {call}", task.gpu)));
            }
        }
        for &before in &task.after {
            if before as usize >= index || tasks[before as usize].gpu != task.gpu {
                return Err(wrong(format!(
                    "it waits for task {before}, which is not an earlier one of its GPU"
                )));
            }
            following[before as usize].push(index as u32);
        }
    }
    let mut dependents = Vec::new();
    let states = tasks
        .iter()
        .zip(&following)
        .map(|(task, following)| {
            let first = dependents.len() as u32;
            dependents.extend_from_slice(following);
            TaskState {
                gpu: task.gpu,
                work: task.work,
                waits: task.after.len() as u32,
                dependents: (first, following.len() as u32),
                times: TaskTimes::default(),
            }
        })
        .collect();
    Ok((states, dependents))
}
