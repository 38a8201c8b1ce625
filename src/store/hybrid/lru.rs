//! The order in which resident entries leave: a doubly linked list inside one vector. Knows nothing of keys or values.
//!
//! Each stay in the list has a ticket of its own. Lookup, eviction and update meet at the slot of an entry, and whoever comes
//! second finds another ticket there and lets it be: that is the whole hand-over.

/// What a list may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub items: usize,
    pub bytes: u64,
}

/// One stay of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle {
    node: u32,
    ticket: u32,
}

/// An entry of the list: the slot of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub shard: u8,
    pub slot: u16,
    pub handle: Handle,
    pub bytes: u64,
}

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct Node {
    /// Towards the most recently used.
    newer: u32,
    /// Towards the least recently used; of a free node, the next free one.
    older: u32,
    ticket: u32,
    slot: u16,
    shard: u8,
    used: bool,
    bytes: u64,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Lru {
    limits: Limits,
    nodes: Vec<Node>,
    newest: u32,
    oldest: u32,
    free: u32,
    items: usize,
    bytes: u64,
    tickets: u32,
}

impl Lru {
    pub fn new(limits: Limits) -> Self {
        Self { limits, nodes: Vec::new(), newest: NONE, oldest: NONE, free: NONE, items: 0, bytes: 0, tickets: 0 }
    }

    pub fn items(&self) -> usize {
        self.items
    }

    /// Bytes of all members.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the list itself.
    pub fn allocation_size(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }

    /// Adds a member as the most recently used.
    pub fn push(&mut self, shard: u8, slot: u16, bytes: u64) -> Handle {
        self.tickets = self.tickets.wrapping_add(1);
        let node = Node { newer: NONE, older: NONE, ticket: self.tickets, slot, shard, used: true, bytes };
        let at = match self.free {
            NONE => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
            free => {
                self.free = self.nodes[free as usize].older;
                self.nodes[free as usize] = node;
                free
            }
        };
        self.link(at);
        self.items += 1;
        self.bytes += bytes;
        Handle { node: at, ticket: self.tickets }
    }

    /// Makes it the most recently used; `false` when it has left.
    pub fn touch(&mut self, handle: Handle) -> bool {
        let holds = self.holds(handle);
        if holds && self.newest != handle.node {
            self.unlink(handle.node);
            self.link(handle.node);
        }
        holds
    }

    /// Changes its bytes; `false` when it has left.
    pub fn resize(&mut self, handle: Handle, bytes: u64) -> bool {
        let holds = self.holds(handle);
        if holds {
            let node = &mut self.nodes[handle.node as usize];
            self.bytes = self.bytes - node.bytes + bytes;
            node.bytes = bytes;
        }
        holds
    }

    /// Takes it out; `false` when it has left already.
    pub fn remove(&mut self, handle: Handle) -> bool {
        let holds = self.holds(handle);
        if holds {
            self.unlink(handle.node);
            let node = &mut self.nodes[handle.node as usize];
            node.used = false;
            node.older = self.free;
            self.free = handle.node;
            self.items -= 1;
            self.bytes -= node.bytes;
        }
        holds
    }

    /// Takes out the least recently used while there is more than the limits allow.
    pub fn pop_excess(&mut self) -> Option<Member> {
        if self.items <= self.limits.items && self.bytes <= self.limits.bytes {
            return None;
        }
        let member = self.member(self.oldest)?;
        self.remove(member.handle);
        Some(member)
    }

    /// The members, the least recently used first.
    pub fn iter(&self) -> impl Iterator<Item = Member> {
        std::iter::successors(self.member(self.oldest), |member| {
            self.member(self.nodes[member.handle.node as usize].newer)
        })
    }

    /// Whether this very stay still lasts.
    pub fn holds(&self, handle: Handle) -> bool {
        self.nodes.get(handle.node as usize).is_some_and(|node| node.used && node.ticket == handle.ticket)
    }

    fn member(&self, at: u32) -> Option<Member> {
        let node = self.nodes.get(at as usize)?;
        let handle = Handle { node: at, ticket: node.ticket };
        Some(Member { shard: node.shard, slot: node.slot, handle, bytes: node.bytes })
    }

    fn link(&mut self, at: u32) {
        let newest = self.newest;
        let node = &mut self.nodes[at as usize];
        (node.newer, node.older) = (NONE, newest);
        match self.nodes.get_mut(newest as usize) {
            Some(behind) => behind.newer = at,
            None => self.oldest = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: u32) {
        let Node { newer, older, .. } = self.nodes[at as usize];
        match self.nodes.get_mut(newer as usize) {
            Some(node) => node.older = older,
            None => self.newest = older,
        }
        match self.nodes.get_mut(older as usize) {
            Some(node) => node.newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn order(lru: &Lru) -> Vec<u16> {
        lru.iter().map(|member| member.slot).collect()
    }

    #[test]
    fn the_least_recently_used_leaves_first() {
        let mut lru = Lru::new(Limits { items: 2, bytes: 100 });
        let handles = [0, 1, 2].map(|slot| lru.push(0, slot, 10));
        assert!(lru.touch(handles[0]));
        assert_eq!(order(&lru), [1, 2, 0]);
        assert_eq!(lru.pop_excess().map(|member| member.slot), Some(1));
        assert_eq!(lru.pop_excess(), None);
        assert!(lru.resize(handles[2], 95));
        assert_eq!(lru.pop_excess().map(|member| member.slot), Some(2), "105 bytes are more than 100");
        assert_eq!((lru.items(), lru.bytes(), order(&lru)), (1, 10, vec![0]));
    }

    #[test]
    fn a_handle_of_an_earlier_stay_does_nothing() {
        let mut lru = Lru::new(Limits { items: 5, bytes: 100 });
        let old = lru.push(0, 1, 10);
        assert!(lru.remove(old));
        let new = lru.push(0, 2, 20);
        assert_eq!(old.node, new.node, "the node is used again");
        assert!(!lru.touch(old) && !lru.remove(old) && !lru.resize(old, 1) && !lru.holds(old));
        assert_eq!((lru.items(), lru.bytes()), (1, 20));
    }

    proptest! {
        #[test]
        fn a_list_agrees_with_a_vector(steps in vec((0..4_u8, 0..12_usize, 1..30_u64), 0..200)) {
            let (mut lru, mut model) = (Lru::new(Limits { items: 6, bytes: 90 }), Vec::<(Handle, u16, u64)>::new());
            for (number, (what, which, bytes)) in steps.into_iter().enumerate() {
                let at = (!model.is_empty()).then(|| which % model.len().max(1));
                match (what, at) {
                    (0, Some(at)) => {
                        let member = model.remove(at);
                        prop_assert!(lru.touch(member.0));
                        model.push(member);
                    }
                    (1, Some(at)) => prop_assert!(lru.remove(model.remove(at).0)),
                    (2, Some(at)) => {
                        model[at].2 = bytes;
                        prop_assert!(lru.resize(model[at].0, bytes));
                    }
                    _ => model.push((lru.push(3, number as u16, bytes), number as u16, bytes)),
                }
                while model.len() > 6 || model.iter().map(|member| member.2).sum::<u64>() > 90 {
                    prop_assert_eq!(lru.pop_excess().map(|member| member.slot), Some(model.remove(0).1));
                }
                prop_assert_eq!(lru.pop_excess(), None);
                prop_assert_eq!(order(&lru), model.iter().map(|member| member.1).collect::<Vec<_>>());
                prop_assert_eq!(lru.bytes(), model.iter().map(|member| member.2).sum::<u64>());
            }
        }
    }
}
