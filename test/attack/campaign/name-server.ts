/**
 * The attackers' name server, a process of its own: names below `silent.test` are never answered, those below
 * `rebind.test` alternate between a public address and the loopback, those below `mixed.test` have both at once, all
 * others do not exist. Its queries are logged.
 *
 * Usage: `node dist/test/attack/campaign/name-server.js --port <n> --log <file>`
 */
import { createSocket } from 'node:dgram';
import { parseArgs } from 'node:util';
import * as dnsPacket from 'dns-packet';
import { openLedger } from '../../chaos/ledger-file.ts';

const { values } = parseArgs({ options: { port: { type: 'string' }, log: { type: 'string' } } });
const write = openLedger<{ readonly name: string; readonly answer: string }>(values.log ?? '');
/** RFC 1035 §4.1.1. */
const NXDOMAIN = 3;
/** A public address and a loopback address. */
const ADDRESSES = ['93.184.215.14', '127.0.0.1'];
let asked = 0;

/** The addresses of a name for this query. */
function addressesOf(name: string): readonly string[] {
  if (name.endsWith('mixed.test')) return ADDRESSES;
  if (!name.endsWith('rebind.test')) return [];
  asked += 1;
  return ADDRESSES.filter((_, index) => index === asked % ADDRESSES.length);
}

const socket = createSocket('udp4');
socket.on('message', (message, { address, port }) => {
  const query = dnsPacket.decode(message);
  const [question] = query.questions ?? [];
  if (question === undefined) return;
  const { name, type } = question;
  const isSilent = name.endsWith('silent.test');
  const isKnown = name.endsWith('rebind.test') || name.endsWith('mixed.test');
  const found = type === 'A' ? addressesOf(name) : [];
  write({ name, answer: isSilent ? 'silence' : found.join(' ') });
  if (isSilent) return;
  const reply = dnsPacket.encode({
    type: 'response',
    id: query.id ?? 0,
    flags: dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE | (isKnown ? 0 : NXDOMAIN),
    questions: [question],
    answers: found.map((data) => ({ name, type: 'A', ttl: 0, data })),
  });
  socket.send(reply, port, address);
});
socket.bind(Number(values.port), '127.0.0.1', () => process.send?.({ type: 'ready' }));
process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0));
