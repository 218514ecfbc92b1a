//! How values of types lie in memory.

use super::*;

#[test]
fn fields_lie_where_c_has_them() {
    let [byte, short] = [8, 16].map(|bits| Type::Scalar(Scalar::Int(bits)));
    let array = Type::Array(false, 3, short.into());
    let fields = [byte.clone(), array, Type::Scalar(Scalar::Double), byte];
    let plain = Type::Struct(false, fields.clone().into());
    let places = |of: &Type| of.parts().unwrap().iter().map(|(_, at)| *at).collect::<Vec<_>>();
    assert_eq!(places(&plain), [0, 2, 4, 6, 8, 16]);
    assert_eq!((plain.size(), plain.align()), (24, 8));
    let packed = Type::Struct(true, fields.into());
    assert_eq!(places(&packed), [0, 1, 3, 5, 7, 15]);
    assert_eq!((packed.size(), packed.align()), (16, 1));
    let vector = Type::Array(true, 3, Rc::new(Type::Scalar(Scalar::Float)));
    assert_eq!((vector.size(), vector.align()), (16, 16));
}
