//! Memory nodes: the parts of a machine whose processors reach one part of the memory faster than the rest (NUMA).
//!
//! A server key is read from end to end by every pass over it. On a machine with several nodes, all processors but those of one node
//! read a key in one piece through the connection between the nodes, which they share.
//! [`ServerKey::copy_to_nodes`](crate::server_key::ServerKey::copy_to_nodes) gives each node a copy of its own. The system
//! puts a page where the thread runs that first writes to it, so a copy is made by a thread that is bound to the processors of its node.
//! The threads that compute are not bound: each takes the copy of the node on which it runs when it begins a pass.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::processors;

/// The memory nodes that have processors on which this process may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// The processors of each node.
    processors: Vec<Vec<usize>>,
}

impl Nodes {
    /// Returns the nodes of this machine. If the system does not list them, there is one node without a list of processors.
    pub fn of_machine() -> Self {
        let mut nodes = Self::described_in(Path::new("/sys/devices/system/node"));
        if let Some(allowed) = processors::allowed() {
            for node in &mut nodes {
                node.retain(|processor| allowed(*processor));
            }
        }
        Self::of_processors(nodes)
    }

    /// Returns nodes with these processors, in this order. Nodes without processors are left out. If no node is left, there is one
    /// without a list of processors.
    pub fn of_processors(nodes: impl IntoIterator<Item = Vec<usize>>) -> Self {
        let mut processors: Vec<_> = nodes.into_iter().filter(|node| !node.is_empty()).collect();
        if processors.is_empty() {
            processors.push(Vec::new());
        }
        Self { processors }
    }

    /// The number of nodes, at least 1.
    pub fn count(&self) -> usize {
        self.processors.len()
    }

    /// Reads the processors of each node from a directory like Linux's `/sys/devices/system/node`. What cannot be read is left out.
    fn described_in(directory: &Path) -> Vec<Vec<usize>> {
        let read = |file: &str| std::fs::read_to_string(directory.join(file)).ok();
        let numbers = read("online").and_then(|list| numbers_of(&list));
        let numbers = numbers.unwrap_or_default().into_iter();
        numbers
            .filter_map(|node| numbers_of(&read(&format!("node{node}/cpulist"))?))
            .collect()
    }

    /// Calls `make` on each node, one after the other, and returns what it gave.
    ///
    /// # Errors
    /// If a thread cannot be started, or not be bound to the processors of its node.
    fn on_each<T: Send>(&self, make: impl Fn() -> T + Sync) -> io::Result<Vec<T>> {
        let on_node = |processors: &Vec<usize>| {
            std::thread::scope(|scope| {
                let bound = || processors::bind(processors).map(|()| make());
                let thread = std::thread::Builder::new().spawn_scoped(scope, bound)?;
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        };
        self.processors.iter().map(on_node).collect()
    }

    /// The node of each processor, for [`PerNode`]. Processors of no node are of the first.
    fn of_each_processor(&self) -> Arc<[usize]> {
        let all = || self.processors.iter().enumerate();
        let last = all().flat_map(|(_, of_node)| of_node).max();
        let mut nodes = vec![0; last.map_or(0, |last| last + 1)];
        for (node, of_node) in all() {
            for &processor in of_node {
                nodes[processor] = node;
            }
        }
        nodes.into()
    }
}

/// The most processors that a list may have. Longer lists are not believed.
const MOST_PROCESSORS: usize = 1 << 16;

/// Reads a list of numbers and ranges in ascending order, such as `0-3,8,10-11`, as the kernel writes them. Returns `None` if it is none.
fn numbers_of(list: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST_PROCESSORS {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// A value that threads read, of which each node has a copy if [`copy_to`](Self::copy_to) was called.
pub(crate) struct PerNode<T> {
    /// At least one.
    copies: Vec<T>,
    /// The index of the copy for each processor.
    copy_of: Arc<[usize]>,
}

impl<T> PerNode<T> {
    /// Returns one value for all nodes.
    pub(crate) fn one(value: T) -> Self {
        Self {
            copies: vec![value],
            copy_of: Arc::new([]),
        }
    }

    /// Returns the copy of the node on which the calling thread runs at this moment.
    pub(crate) fn local(&self) -> &T {
        match &*self.copies {
            [one] => one,
            copies => {
                let copy = self.copy_of.get(processors::current());
                &copies[copy.copied().unwrap_or(0)]
            }
        }
    }

    /// All copies.
    pub(crate) fn copies(&self) -> impl Iterator<Item = &T> {
        self.copies.iter()
    }
}

impl<T: Clone + Send + Sync> PerNode<T> {
    /// Makes a copy on each node in the place of the value before. Does nothing if there is one node.
    ///
    /// # Errors
    /// Those of [`Nodes::on_each`]. The value is then as before.
    pub(crate) fn copy_to(&mut self, nodes: &Nodes) -> io::Result<()> {
        if nodes.count() > 1 {
            self.copies = nodes.on_each(|| self.copies[0].clone())?;
            self.copy_of = nodes.of_each_processor();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_read() {
        assert_eq!(
            numbers_of("0-3,8,10-11\n"),
            Some(vec![0, 1, 2, 3, 8, 10, 11])
        );
        assert_eq!(numbers_of("0\n"), Some(vec![0]));
        // A node that has memory only.
        assert_eq!(numbers_of("\n"), Some(vec![]));
        for wrong in [
            "a",
            "3-1",
            "0-",
            "-",
            "1;2",
            "0-99999999999",
            "18446744073709551616",
        ] {
            assert_eq!(numbers_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn nodes_are_those_that_are_online_and_have_processors() {
        let directory = std::env::temp_dir().join(format!("tfhe-sbc-nodes-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let path = directory.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("online", "0-1,3-4\n");
        write("node0/cpulist", "0-1,4-5\n");
        write("node1/cpulist", "2-3,6-7\n");
        write("node2/cpulist", "8-9\n");
        write("node3/cpulist", "\n");
        write("node4/cpulist", "not a list\n");
        let nodes = Nodes::of_processors(Nodes::described_in(&directory));
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(
            nodes,
            Nodes::of_processors([vec![0, 1, 4, 5], vec![2, 3, 6, 7]])
        );
        assert_eq!(*nodes.of_each_processor(), [0, 0, 1, 1, 0, 0, 1, 1]);
    }

    #[test]
    fn a_machine_that_lists_no_nodes_is_one_node() {
        let nodes = Nodes::of_processors(Nodes::described_in(Path::new("/nowhere")));
        assert_eq!(nodes.count(), 1);
        let mut value = PerNode::one(7);
        value.copy_to(&nodes).unwrap();
        assert_eq!((*value.local(), value.copies().count()), (7, 1));
        assert!(Nodes::of_machine().count() >= 1);
    }

    /// On this machine's processors, whatever its nodes are: a thread that is bound to one takes the copy that was made there.
    #[cfg(target_os = "linux")]
    #[test]
    fn each_thread_reads_the_copy_of_its_node() {
        let allowed = processors::allowed().unwrap();
        let processors: Vec<usize> = (0..MOST_PROCESSORS).filter(|&p| allowed(p)).collect();
        let nodes = Nodes::of_processors(processors.iter().map(|&processor| vec![processor]));
        let mut value = PerNode::one(vec![1, 2, 3]);
        value.copy_to(&nodes).unwrap();
        assert_eq!(value.copies().count(), processors.len());
        assert!(value.copies().all(|copy| *copy == [1, 2, 3]));
        let read = nodes.on_each(|| value.local().as_ptr().addr()).unwrap();
        let made: Vec<usize> = value.copies().map(|copy| copy.as_ptr().addr()).collect();
        assert_eq!(read, made);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_node_that_cannot_be_bound_to_leaves_the_value_as_it_was() {
        let nodes = Nodes::of_processors([vec![0], vec![MOST_PROCESSORS]]);
        let mut value = PerNode::one(5);
        assert!(value.copy_to(&nodes).is_err());
        assert_eq!((*value.local(), value.copies().count()), (5, 1));
    }
}
