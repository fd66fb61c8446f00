//! Execution of a schedule with symbolic values: messages, slots and slices as the executor has them, without time.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use super::prove::prove;
use super::sum::Sum;
use super::{Blocked, CheckError, Wait};
use crate::schedule::{Buffer, Channel, CollectiveSchedule, Operation, Path, Step};

/// Blocked threads that an error names.
const NAMED: usize = 6;

/// A slice on its way.
#[derive(Clone)]
struct Message {
    /// The values of the step's blocks.
    values: Rc<[Sum]>,
    slice: u64,
    bytes: u64,
}

/// Messages of a connection.
#[derive(Default)]
struct Queue {
    /// Sent into a reduction that still lacks others' messages.
    pending: VecDeque<Message>,
    /// To be received.
    ready: VecDeque<Message>,
    /// Threads that wait for a message and for a slot.
    receiver: Option<u32>,
    sender: Option<u32>,
}

/// Where a thread is.
#[derive(Clone, Default)]
struct Place {
    step: usize,
    repetition: u32,
    slice: u64,
    /// Result of the step, from its first slice on.
    result: Option<Rc<[Sum]>>,
    wait: Option<Wait>,
}

/// A block of an output buffer and the thread that wrote it.
pub(super) type Cell = Option<(Sum, u32)>;

struct Machine<'a> {
    schedule: &'a CollectiveSchedule,
    part: &'a Channel,
    /// The loop.
    index: u32,
    queues: Vec<Queue>,
    places: Vec<Place>,
    /// Output blocks, `[rank][block]`, of the channel.
    output: Vec<Cell>,
    /// Connections of each group.
    groups: HashMap<u32, Vec<u32>>,
    runnable: Vec<u32>,
}

/// Executes a loop of each size of each channel. For AllToAll returns which channels bring each rank the block of each
/// rank: `[receiver][sender]`.
pub(super) fn execute(schedule: &CollectiveSchedule) -> Result<Vec<Vec<u32>>, CheckError> {
    let mut groups: HashMap<u32, Vec<u32>> = HashMap::new();
    for (c, connection) in schedule.connections.iter().enumerate() {
        if let Path::InNetwork { group, .. } = connection.path {
            groups.entry(group).or_default().push(c as u32);
        }
    }
    let mut threads: Vec<Vec<u32>> = vec![vec![]; schedule.channels.len()];
    for (t, thread) in schedule.threads.iter().enumerate() {
        threads[thread.channel as usize].push(t as u32);
    }
    let mut machine = Machine {
        schedule,
        part: &schedule.channels[0],
        index: 0,
        queues: schedule.connections.iter().map(|_| Queue::default()).collect(),
        places: vec![Place::default(); schedule.threads.len()],
        output: vec![],
        groups,
        runnable: vec![],
    };
    let pairs = if schedule.operation == Operation::AllToAll {
        schedule.ranks as usize * schedule.ranks as usize
    } else {
        0
    };
    let mut delivered = vec![vec![]; pairs];
    for (c, part) in schedule.channels.iter().enumerate() {
        machine.part = part;
        for index in if part.loops > 1 { vec![0, part.loops - 1] } else { vec![0] } {
            machine.index = index;
            machine.run_loop(c as u32, &threads[c])?;
            prove(schedule, c as u32, &machine.output)?;
        }
        for (i, cell) in machine.output.iter().enumerate().take(pairs) {
            if cell.is_some() {
                let blocks = part.blocks as usize;
                let sender = part.data_block((i % blocks) as u32) as usize;
                delivered[i / blocks * blocks + sender].push(c as u32);
            }
        }
    }
    Ok(delivered)
}

impl Machine<'_> {
    /// Runs the threads of a channel from start to end of a loop.
    fn run_loop(&mut self, channel: u32, threads: &[u32]) -> Result<(), CheckError> {
        self.output.clear();
        self.output.resize(self.schedule.ranks as usize * self.part.blocks as usize, None);
        for &t in threads {
            self.places[t as usize] = Place::default();
        }
        self.runnable = threads.iter().rev().copied().collect();
        while let Some(thread) = self.runnable.pop() {
            self.run(thread)?;
        }
        let waits = threads.iter().filter_map(|t| Some((*t, self.places[*t as usize].wait?)));
        let blocked: Vec<Blocked> = waits.map(|(t, wait)| self.blocked(t, wait)).collect();
        if !blocked.is_empty() {
            let (count, named) = (blocked.len() as u32, blocked.into_iter().take(NAMED).collect());
            return Err(CheckError::Deadlock { channel, threads: count, blocked: named });
        }
        for (c, queue) in self.queues.iter().enumerate() {
            let messages = (queue.pending.len() + queue.ready.len()) as u64;
            if messages > 0 {
                let connection = &self.schedule.connections[c];
                let (from, to) = (connection.from, connection.to);
                return Err(CheckError::Unmatched { connection: c as u32, from, to, messages });
            }
        }
        Ok(())
    }

    fn blocked(&self, thread: u32, wait: Wait) -> Blocked {
        let (place, of) = (&self.places[thread as usize], &self.schedule.threads[thread as usize]);
        let peer = match wait {
            Wait::Message(c) => self.schedule.connections[c as usize].from,
            Wait::Slot(c) => self.schedule.connections[c as usize].to,
        };
        let (step, repetition) = (place.step as u32, place.repetition);
        Blocked { thread, rank: of.rank, role: of.role, step, repetition, wait, peer }
    }

    /// Runs a thread until it waits or ends.
    fn run(&mut self, thread: u32) -> Result<(), CheckError> {
        let schedule = self.schedule;
        let program = &schedule.threads[thread as usize].steps;
        loop {
            let place = &self.places[thread as usize];
            let Some(step) = program.get(place.step) else { return Ok(()) };
            let bytes = self.part.step_bytes(self.index, step, place.repetition);
            if !self.run_step(thread, step, bytes)? {
                return Ok(());
            }
            let place = &mut self.places[thread as usize];
            (place.slice, place.result) = (0, None);
            place.repetition += 1;
            if place.repetition == step.repeat {
                (place.step, place.repetition) = (place.step + 1, 0);
            }
        }
    }

    /// Does what is left of a step; returns whether it is done, else the thread waits.
    fn run_step(&mut self, thread: u32, step: &Step, bytes: u64) -> Result<bool, CheckError> {
        let (each, count) = (self.part.slice_bytes(bytes), self.part.slice_count(bytes));
        loop {
            let slice = self.places[thread as usize].slice;
            if slice == count {
                break;
            }
            if let Some(wait) = self.wait(step) {
                self.places[thread as usize].wait = Some(wait);
                match wait {
                    Wait::Message(c) => self.queues[c as usize].receiver = Some(thread),
                    Wait::Slot(c) => self.queues[c as usize].sender = Some(thread),
                }
                return Ok(false);
            }
            self.places[thread as usize].wait = None;
            let bytes = each.min(bytes - each * slice);
            self.receive(thread, step, slice, bytes)?;
            self.send(thread, step, slice, bytes)?;
            self.places[thread as usize].slice += 1;
        }
        if step.store
            && let Some(result) = self.places[thread as usize].result.take()
        {
            self.store(thread, step, &result)?;
        }
        Ok(true)
    }

    /// What a step has to wait for.
    fn wait(&self, step: &Step) -> Option<Wait> {
        let empty = step.receive.iter().find(|c| self.queues[**c as usize].ready.is_empty());
        let full = step.send.iter().find(|c| {
            let queue = &self.queues[**c as usize];
            let slots = self.schedule.connections[**c as usize].slots as usize;
            queue.pending.len() + queue.ready.len() >= slots
        });
        empty.map(|c| Wait::Message(*c)).or(full.map(|c| Wait::Slot(*c)))
    }

    /// Takes a slice from all connections that the step receives from; with the first, computes the step's result.
    fn receive(&mut self, thread: u32, step: &Step, slice: u64, bytes: u64) -> Result<(), CheckError> {
        let mut received = vec![];
        for &connection in &step.receive {
            let queue = &mut self.queues[connection as usize];
            let Some(message) = queue.ready.pop_front() else { continue };
            if (message.slice, message.bytes, message.values.len()) != (slice, bytes, step.span as usize) {
                return Err(CheckError::Size {
                    thread,
                    step: self.places[thread as usize].step as u32,
                    connection,
                    slice,
                    span: step.span,
                    bytes,
                    sent_slice: message.slice,
                    sent_span: message.values.len() as u32,
                    sent_bytes: message.bytes,
                });
            }
            self.runnable.extend(queue.sender.take());
            received.push(message.values);
        }
        if slice == 0 {
            let result = self.result(thread, step, received)?;
            self.places[thread as usize].result = Some(result);
        }
        Ok(())
    }

    /// The sum of what a step received and its own block.
    fn result(
        &self,
        thread: u32,
        step: &Step,
        mut received: Vec<Rc<[Sum]>>,
    ) -> Result<Rc<[Sum]>, CheckError> {
        let Some(source) = step.source else {
            if received.len() == 1
                && let Some(only) = received.pop()
            {
                return Ok(only);
            }
            return self.add(thread, step, &received, None);
        };
        let repetition = self.places[thread as usize].repetition;
        let blocks = step.blocks_at(repetition, self.part.blocks);
        let own = blocks.map(|block| self.own(thread, source, block)).collect::<Result<Rc<[Sum]>, _>>()?;
        if received.is_empty() { Ok(own) } else { self.add(thread, step, &received, Some(own)) }
    }

    fn add(
        &self,
        thread: u32,
        step: &Step,
        received: &[Rc<[Sum]>],
        own: Option<Rc<[Sum]>>,
    ) -> Result<Rc<[Sum]>, CheckError> {
        let all = || received.iter().chain(&own);
        let mut sums = Vec::with_capacity(step.span as usize);
        for i in 0..step.span as usize {
            let sum = Sum::add(all().map(|values| &values[i]), self.schedule.ranks)
                .map_err(|(rank, block)| self.duplicate(thread, rank, block))?;
            sums.extend(sum);
        }
        Ok(sums.into())
    }

    fn duplicate(&self, thread: u32, rank: u32, block: u32) -> CheckError {
        CheckError::Duplicate { thread, step: self.places[thread as usize].step as u32, rank, block }
    }

    fn step_error(&self, thread: u32, reason: String) -> CheckError {
        CheckError::Step { thread, step: self.places[thread as usize].step as u32, reason }
    }

    /// A rank's own block.
    fn own(&self, thread: u32, source: Buffer, block: u32) -> Result<Sum, CheckError> {
        let rank = self.schedule.threads[thread as usize].rank;
        let data = self.part.data_block(block);
        match source {
            Buffer::Input => {
                let has = match self.schedule.operation {
                    Operation::AllGather => data == rank,
                    Operation::Broadcast => rank == self.schedule.root,
                    Operation::AllReduce
                    | Operation::ReduceScatter
                    | Operation::Reduce
                    | Operation::AllToAll
                    | Operation::SendRecv => true,
                };
                if has {
                    return Ok(Sum::One { rank, block: data });
                }
                let operation = self.schedule.operation;
                let reason =
                    format!("reads input block {data}, which rank {rank} does not have in {operation:?}");
                Err(self.step_error(thread, reason))
            }
            Buffer::Output => match &self.output[self.cell(rank, block)] {
                Some((sum, writer)) if *writer == thread => Ok(sum.clone()),
                Some((_, writer)) => {
                    let reason = format!("reads output block {data} while thread {writer} writes it");
                    Err(self.step_error(thread, reason))
                }
                None => {
                    Err(self.step_error(thread, format!("reads output block {data} before it is written")))
                }
            },
        }
    }

    fn cell(&self, rank: u32, block: u32) -> usize {
        rank as usize * self.part.blocks as usize + block as usize
    }

    /// Keeps the result of a step.
    fn store(&mut self, thread: u32, step: &Step, result: &[Sum]) -> Result<(), CheckError> {
        let rank = self.schedule.threads[thread as usize].rank;
        let repetition = self.places[thread as usize].repetition;
        for (block, sum) in step.blocks_at(repetition, self.part.blocks).zip(result) {
            let cell = self.cell(rank, block);
            if let Some((_, writer)) = &self.output[cell]
                && *writer != thread
            {
                let reason = format!("writes output block {block}, and so does thread {writer}");
                return Err(self.step_error(thread, reason));
            }
            self.output[cell] = Some((sum.clone(), thread));
        }
        Ok(())
    }

    /// Sends a slice of the step's result on all its connections.
    fn send(&mut self, thread: u32, step: &Step, slice: u64, bytes: u64) -> Result<(), CheckError> {
        let Some(values) = self.places[thread as usize].result.clone() else { return Ok(()) };
        for &connection in &step.send {
            let message = Message { values: values.clone(), slice, bytes };
            let queue = &mut self.queues[connection as usize];
            if let Path::InNetwork { group, .. } = self.schedule.connections[connection as usize].path {
                queue.pending.push_back(message);
                self.reduce(thread, group)?;
            } else {
                queue.ready.push_back(message);
                self.runnable.extend(queue.receiver.take());
            }
        }
        Ok(())
    }

    /// Adds up the next messages of a group in the network, once all are there.
    fn reduce(&mut self, thread: u32, group: u32) -> Result<(), CheckError> {
        let members = self.groups[&group].clone();
        let mut messages: Vec<Message> = vec![];
        for c in &members {
            let Some(message) = self.queues[*c as usize].pending.front() else { return Ok(()) };
            let alike = |m: &Message| (m.slice, m.bytes, m.values.len());
            if messages.first().is_some_and(|first| alike(first) != alike(message)) {
                return Err(CheckError::Group { group, connection: members[0], other: *c });
            }
            messages.push(message.clone());
        }
        let span = messages[0].values.len();
        let mut sums = Vec::with_capacity(span);
        for i in 0..span {
            let sum = Sum::add(messages.iter().map(|m| &m.values[i]), self.schedule.ranks)
                .map_err(|(rank, block)| self.duplicate(thread, rank, block))?;
            sums.extend(sum);
        }
        let values: Rc<[Sum]> = sums.into();
        for c in members {
            let queue = &mut self.queues[c as usize];
            let Some(message) = queue.pending.pop_front() else { continue };
            queue.ready.push_back(Message { values: values.clone(), ..message });
            self.runnable.extend(queue.receiver.take());
        }
        Ok(())
    }
}
