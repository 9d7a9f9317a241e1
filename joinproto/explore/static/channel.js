// The page's one channel, over HTTP: ask(verb, args) gives the answer of joinproto/explore.

export function overHttp(place = new URL("ask", document.baseURI)) {
  return async function ask(verb, args = {}) {
    let answer;
    try {
      answer = await fetch(place, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ verb, arguments: args }),
      });
    } catch {
      return { error: { message: "joinproto does not answer any more", next: "start joinproto explore again, and open its address" } };
    }
    if (!answer.ok) return { error: { message: (await answer.text()).trim(), next: "" } };
    return answer.json();
  };
}
