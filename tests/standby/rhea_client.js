// A client by another maker: rhea.  node rhea_client.js publish|consume COUNT HOST:PORT...
// Publishes and waits until each is accepted, or takes and waits until each is settled; prints JSON.
const rhea = require('rhea');
const [what, count, ...addresses] = process.argv.slice(2);
const wanted = Number(count);
const found = [];
let sent = 0, settled = 0, attempt = 0;

rhea.options.reconnect_limit = 100;
const connection = rhea.connect({
  connection_details: () => {
    const [host, port] = addresses[attempt++ % addresses.length].split(':');
    return { host, port: Number(port), transport: 'tcp', username: undefined };
  },
  initial_reconnect_delay: 100,
  max_reconnect_delay: 200,
});
if (what === 'publish') connection.open_sender({ target: 'q' });
else connection.open_receiver({ source: 'q', credit_window: 0, autoaccept: false, autosettle: false });

function over() {
  console.log(JSON.stringify({ found, settled, attempts: attempt }));
  connection.close();
  process.exit(0);
}
rhea.on('sendable', (context) => {
  while (context.sender.sendable() && sent < wanted)
    context.sender.send({ body: String(++sent), durable: true });
});
rhea.on('accepted', () => { if (++settled === wanted) over(); });
rhea.on('receiver_open', (context) => context.receiver.add_credit(wanted));
rhea.on('message', (context) => {
  found.push([context.message.body, (context.message.delivery_count || 0) > 0]);
  context.delivery.update(false, rhea.message.accepted().described());
});
rhea.on('settled', () => { if (what === 'consume' && ++settled === wanted) over(); });
rhea.on('connection_error', () => {});
rhea.on('disconnected', () => {});
setTimeout(() => { console.log(JSON.stringify({ found, settled, attempts: attempt, late: true })); process.exit(1); }, 30000);
