//! Tasks: what each GPU does, and after what.

use sim_core::Time;
use sim_core::queue::EventQueue;

use super::{Line, Moved, State, TaskState};
use crate::fabric::Fabric;
use crate::record::Recorder;
use crate::workload::{TaskTimes, Work};

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Takes the idle wire and proxies off each call's network latency: they are simulated. What is left lies half before
    /// and half behind the wire.
    pub(in crate::fabric) fn settle_latencies(&mut self) {
        let Some(machine) = &self.collectives.machine else { return };
        let proxies = machine.proxy_send.0 + machine.proxy_receive.0;
        for call in 0..self.collectives.calls.len() {
            let c = &self.collectives;
            let wire = c.calls[call]
                .connections
                .iter()
                .map(|&id| &c.connections[id as usize])
                .filter(|connection| matches!(connection.line, Line::Network | Line::InNetwork))
                .map(|connection| self.paths[connection.qp as usize].base_rtt / 2)
                .min()
                .unwrap_or(0);
            let call = &mut self.collectives.calls[call];
            call.network_side = call.timing.network.0.saturating_sub(proxies + wire) / 2;
        }
    }

    /// The first stream of each connection of call `call`'s schedule, as an index of flows, and how many carry its data;
    /// `None` for connections within a node.
    pub fn data_streams(&self, call: u32) -> Vec<Option<std::ops::Range<u32>>> {
        let c = &self.collectives;
        c.calls[call as usize]
            .connections
            .iter()
            .map(|&id| {
                let connection = &c.connections[id as usize];
                matches!(connection.line, Line::Network | Line::InNetwork)
                    .then(|| connection.qp..connection.qp + u32::from(connection.qps))
            })
            .collect()
    }

    /// Starts the tasks that wait for nothing.
    pub(in crate::fabric) fn start_tasks(&mut self) {
        for task in 0..self.collectives.tasks.len() as u32 {
            if self.collectives.tasks[task as usize].waits == 0 {
                self.start_task(task);
            }
        }
    }

    fn start_task(&mut self, task: u32) {
        let state = &mut self.collectives.tasks[task as usize];
        let gpu = state.gpu;
        match state.work {
            Work::Compute(_) => {
                let g = &mut self.collectives.gpus[gpu as usize];
                if g.computing.is_some() {
                    g.queue.push_back(task);
                } else {
                    self.compute(task);
                }
            }
            Work::Call { call, rank } => {
                state.times.started = Some(self.now);
                let c = &mut self.collectives.calls[call as usize];
                let (first, count) = c.ranks[rank as usize];
                debug_assert_eq!(c.running[rank as usize].0, 0, "a rank calls one collective at a time");
                c.running[rank as usize] = (count, task);
                let at = self.now + c.timing.base;
                if count == 0 {
                    return self.finish_task(task, at);
                }
                for thread in first..first + count {
                    self.start_thread(thread, at);
                }
            }
        }
    }

    fn compute(&mut self, task: u32) {
        let state = &mut self.collectives.tasks[task as usize];
        let Work::Compute(time) = state.work else { return };
        state.times.started = Some(self.now);
        let gpu = state.gpu;
        self.collectives.gpus[gpu as usize].computing = Some(task);
        self.queue.push(self.now + time, self.targets.compute + gpu);
    }

    /// GPU `g` has computed.
    pub(in crate::fabric) fn on_computed(&mut self, g: u32) {
        let gpu = &mut self.collectives.gpus[g as usize];
        let done = gpu.computing.take();
        if let Some(next) = gpu.queue.pop_front() {
            self.compute(next);
        }
        if let Some(task) = done {
            self.finish_task(task, self.now);
        }
    }

    /// Thread `t` is at the end of its program at `at`.
    pub(super) fn thread_done(&mut self, t: u32, at: Time) {
        let thread = &mut self.collectives.threads[t as usize];
        thread.state = State::Idle;
        let (call, rank) = (thread.call as usize, thread.rank as usize);
        let running = &mut self.collectives.calls[call].running[rank];
        running.0 -= 1;
        if running.0 == 0 {
            let task = running.1;
            self.finish_task(task, at);
        }
    }

    fn finish_task(&mut self, task: u32, at: Time) {
        self.collectives.tasks[task as usize].times.finished = Some(at);
        self.collectives.done += 1;
        self.last_delivery = self.last_delivery.max(self.now);
        let (first, count) = self.collectives.tasks[task as usize].dependents;
        for i in first..first + count {
            let next = self.collectives.dependents[i as usize];
            let state = &mut self.collectives.tasks[next as usize];
            state.waits -= 1;
            if state.waits == 0 {
                self.start_task(next);
            }
        }
    }

    /// Whether some GPU computes.
    pub fn computing(&self) -> bool {
        self.collectives.gpus.iter().any(|gpu| gpu.computing.is_some())
    }

    /// Tasks done.
    pub fn tasks_done(&self) -> u64 {
        self.collectives.done
    }

    /// When each task ran, in the order of the workload.
    pub fn task_times(&self) -> impl ExactSizeIterator<Item = TaskTimes> {
        self.collectives.tasks.iter().map(|task: &TaskState| task.times)
    }

    /// Bytes moved by GPUs so far.
    pub fn moved(&self) -> Moved {
        Moved {
            local_bytes: self.collectives.gpus.iter().map(|gpu| gpu.local_bytes).sum(),
            network_bytes: self.streams.iter().map(|stream| stream.bytes).sum(),
        }
    }
}
