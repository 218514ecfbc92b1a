//! Sums of more than one word: `add.cc`, `addc` and the like, which keep a carry between them.

use crate::decode::{Decoder, Result};
use crate::program::Preset;
use crate::registers::Class;
use crate::syntax::Operand;
use crate::table::{Form, carry, copy};

impl Decoder<'_> {
    pub(super) fn with_carry(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        let (keeps, takes) = (form.take("cc"), form.base.ends_with('c'));
        let [sum, next_carry] = carry::lookup(&mut form).ok_or_else(|| self.unsupported(name))?;
        let carry = match self.carry {
            Some(carry) => carry,
            None => self.new_register(Class::Predicate)?,
        };
        self.carry = Some(carry);
        let Some((result, sources)) = operands.split_first() else {
            return Err(self.wrong_operands(name));
        };
        if sources.len() + 1 != sum.sources.len() {
            return Err(self.wrong_operands(name));
        }
        let mut slots = Vec::new();
        for (source, class) in sources.iter().zip(sum.sources) {
            slots.push(self.source(source, *class)?);
        }
        slots.push(match takes {
            true => carry,
            false => self.constant(Class::Predicate, Preset::Bits(0))?,
        });
        let result = self.result(result, sum.result)?;
        if !keeps {
            return self.apply(sum, result, &slots);
        }
        // The result may take the place of an operand.
        let next = self.new_register(Class::Predicate)?;
        self.apply(next_carry, next, &slots)?;
        self.apply(sum, result, &slots)?;
        self.apply(copy(Class::Predicate), carry, &[next])
    }
}
