mod fixture;
use fixture::Fixture;

#[test]
fn smoke() {
    let f = Fixture::new();
    match f.build() {
        Ok(b) => println!("{b:?}"),
        Err(e) => panic!("{e:#}"),
    }
    let html = f.read("book/book/copy.html");
    let a = html.find("<main>").unwrap();
    println!("{}", &html[a..html.find("</main>").unwrap()]);
    let html = f.read("book/book/scorecard.html");
    let a = html.find("<main>").unwrap();
    println!("{}", &html[a..html.find("</main>").unwrap()]);
}
