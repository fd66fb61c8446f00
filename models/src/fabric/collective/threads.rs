//! Threads: waiting, working, handing on.

use sim_core::Time;
use sim_core::queue::EventQueue;

use super::{Line, NONE, State, reserve, span};
use crate::fabric::Fabric;
use crate::record::Recorder;

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Thread `t` is called: its program starts after `at`.
    pub(super) fn start_thread(&mut self, t: u32, at: Time) {
        let thread = &mut self.collectives.threads[t as usize];
        debug_assert!(thread.state == State::Idle && !thread.pending);
        thread.looped = 0;
        thread.step = thread.first_step;
        thread.repetition = 0;
        thread.left = 0;
        if self.enter_step(t) {
            let thread = &mut self.collectives.threads[t as usize];
            thread.state = State::Waiting;
            thread.pending = true;
            self.queue.push(at, self.targets.thread + t);
        } else {
            self.thread_done(t, at);
        }
    }

    /// The event of thread `t`.
    pub(in crate::fabric) fn on_thread(&mut self, t: u32) {
        let thread = &mut self.collectives.threads[t as usize];
        thread.pending = false;
        if thread.state == State::Working {
            self.finish_slice(t);
        } else {
            self.advance(t);
        }
    }

    /// Something that thread `t` may wait for has changed.
    #[inline]
    pub(super) fn poke(&mut self, t: u32) {
        if t != NONE && !self.collectives.threads[t as usize].pending {
            self.advance(t);
        }
    }

    /// Starts the next slice of thread `t` if all it needs is there.
    fn advance(&mut self, t: u32) {
        let c = &mut self.collectives;
        let thread = &c.threads[t as usize];
        if thread.state != State::Waiting {
            return;
        }
        let step = c.steps[thread.step as usize];
        let call = &c.calls[thread.call as usize];
        let (local, network) = (call.timing.local.0, call.network_side);
        let mut ready = self.now.0;
        for i in 0..u32::from(step.receive.1) {
            let id = c.lists[(step.receive.0 + i) as usize];
            let connection = &mut c.connections[id as usize];
            if connection.arrived == connection.consumed {
                connection.waiting_receiver = t;
                return;
            }
            let latency = match connection.line {
                Line::Local | Line::Reduce | Line::Multicast => local,
                Line::Network | Line::InNetwork => network,
            };
            let message = connection.consumed;
            ready = ready.max(c.slot(id, message).arrived_at + latency);
        }
        for i in 0..u32::from(step.send.1) {
            let connection = &mut c.connections[c.lists[(step.send.0 + i) as usize] as usize];
            let used = match connection.line {
                Line::Network => connection.sent - connection.acked,
                Line::Local | Line::Reduce | Line::Multicast | Line::InNetwork => {
                    connection.sent - connection.consumed
                }
            };
            if used >= connection.slots {
                connection.waiting_sender = t;
                return;
            }
        }
        if ready > self.now.0 {
            c.threads[t as usize].pending = true;
            self.queue.push(Time(ready), self.targets.thread + t);
            return;
        }
        self.start_slice(t);
    }

    /// Works on a slice: the thread's rate, its step cost and the NVLink ports say for how long.
    fn start_slice(&mut self, t: u32) {
        let now = self.now.0;
        let c = &mut self.collectives;
        let Some(machine) = &c.machine else { return };
        let (local_rate, nvls_rate) = (machine.local_rate, machine.nvls_rate);
        let thread = &mut c.threads[t as usize];
        let bytes = thread.left.min(thread.slice);
        let call = &c.calls[thread.call as usize];
        let wire = call.protocol.wire_bytes(bytes);
        let mut end = now + span(bytes, thread.rate);
        let step = c.steps[thread.step as usize];
        let (over_link, over_switch) = (span(wire, local_rate), span(wire, nvls_rate));
        let mut reduced = false;
        for i in 0..u32::from(step.receive.1) {
            let connection = &c.connections[c.lists[(step.receive.0 + i) as usize] as usize];
            if connection.line != Line::Reduce {
                continue;
            }
            let (from, to) = (connection.from as usize, connection.to as usize);
            let start = reserve(&mut c.gpus[from].egress, now, over_switch);
            c.gpus[from].local_bytes += bytes;
            end = end.max(start + over_switch);
            if !reduced {
                reduced = true;
                let start = reserve(&mut c.gpus[to].ingress, now, over_switch);
                end = end.max(start + over_switch);
            }
        }
        let mut copied = NONE;
        for i in 0..u32::from(step.send.1) {
            let connection = &c.connections[c.lists[(step.send.0 + i) as usize] as usize];
            let (from, to) = (connection.from as usize, connection.to as usize);
            let (to, time) = match connection.line {
                Line::Local => (to, over_link),
                // PXN: into the memory of the GPU whose proxy sends.
                Line::Network if connection.proxy != connection.from => {
                    (connection.proxy as usize, over_link)
                }
                Line::Multicast => {
                    if copied == NONE {
                        let start = reserve(&mut c.gpus[from].egress, now, over_switch);
                        c.gpus[from].local_bytes += bytes;
                        copied = i;
                        end = end.max(start + over_switch);
                    }
                    let start = reserve(&mut c.gpus[to].ingress, now, over_switch);
                    end = end.max(start + over_switch);
                    continue;
                }
                Line::Reduce | Line::Network | Line::InNetwork => continue,
            };
            let start = reserve(&mut c.gpus[from].egress, now, time);
            c.gpus[from].local_bytes += bytes;
            let start = reserve(&mut c.gpus[to].ingress, start, time);
            end = end.max(start + time);
        }
        let thread = &mut c.threads[t as usize];
        thread.state = State::Working;
        thread.pending = true;
        self.queue.push(Time(end), self.targets.thread + t);
    }

    /// A slice is done: slots of what was received are free, what was sent is on its way.
    fn finish_slice(&mut self, t: u32) {
        let now = self.now.0;
        let thread = &mut self.collectives.threads[t as usize];
        let bytes = thread.left.min(thread.slice);
        thread.left -= bytes;
        thread.state = State::Waiting;
        let step = self.collectives.steps[thread.step as usize];
        let wire = self.collectives.calls[thread.call as usize].protocol.wire_bytes(bytes);
        let send_latency = self.collectives.calls[thread.call as usize].network_side;
        // The thread's own place moves on before anyone it wakes looks at it.
        let more = thread.left > 0 || self.next_step(t);
        for i in 0..u32::from(step.receive.1) {
            let id = self.collectives.lists[(step.receive.0 + i) as usize];
            let connection = &mut self.collectives.connections[id as usize];
            connection.consumed += 1;
            match connection.line {
                Line::Local | Line::Reduce | Line::Multicast => {
                    let waiting = std::mem::replace(&mut connection.waiting_sender, NONE);
                    self.poke(waiting);
                }
                Line::Network => {
                    let qp = connection.cts_qp;
                    self.post(qp, super::CLEAR_TO_SEND);
                }
                Line::InNetwork => {
                    let waiting = std::mem::replace(&mut connection.waiting_sender, NONE);
                    self.poke(waiting);
                }
            }
        }
        for i in 0..u32::from(step.send.1) {
            let id = self.collectives.lists[(step.send.0 + i) as usize];
            let connection = &mut self.collectives.connections[id as usize];
            let message = connection.sent;
            connection.sent += 1;
            match connection.line {
                Line::Local | Line::Reduce | Line::Multicast => {
                    connection.arrived += 1;
                    let waiting = std::mem::replace(&mut connection.waiting_receiver, NONE);
                    self.collectives.slot(id, message).arrived_at = now;
                    self.poke(waiting);
                }
                Line::Network | Line::InNetwork => self.hand_to_proxy(id, message, wire, send_latency),
            }
        }
        if more {
            self.poke(t);
        } else {
            self.collectives.threads[t as usize].state = State::Idle;
            self.thread_done(t, self.now);
        }
    }

    /// Goes on to the next repetition, step or loop that moves bytes; false at the end of the program.
    fn next_step(&mut self, t: u32) -> bool {
        self.collectives.threads[t as usize].repetition += 1;
        self.enter_step(t)
    }

    /// Enters the step a thread points at, or the next that moves bytes; false at the end of the program.
    fn enter_step(&mut self, t: u32) -> bool {
        loop {
            let c = &mut self.collectives;
            let thread = &mut c.threads[t as usize];
            let channel = &c.channels[thread.channel as usize];
            if thread.step == thread.last_step {
                let (call, looped) = (thread.call as usize, thread.looped);
                thread.looped += 1;
                c.calls[call].steady.loop_done(looped, self.now);
                let next = c.calls[call].steady.after(looped);
                let thread = &mut c.threads[t as usize];
                thread.looped = next;
                if next >= c.channels[thread.channel as usize].loops || thread.first_step == thread.last_step
                {
                    return false;
                }
                c.calls[call].steady.loop_begun(next);
                thread.step = thread.first_step;
                thread.repetition = 0;
                continue;
            }
            let step = &c.steps[thread.step as usize];
            if thread.repetition >= step.repeat {
                thread.step += 1;
                thread.repetition = 0;
                continue;
            }
            let moved = i64::from(step.block) + i64::from(thread.repetition) * i64::from(step.stride);
            let block = moved.rem_euclid(i64::from(channel.blocks.max(1))) as u32;
            let bytes = if step.span == 1 {
                channel.block(thread.looped, block).1
            } else {
                channel.span_bytes(thread.looped, block, step.span)
            };
            if bytes == 0 {
                thread.repetition += 1;
                continue;
            }
            thread.left = bytes;
            thread.slice = channel.slice_bytes(bytes);
            return true;
        }
    }
}
