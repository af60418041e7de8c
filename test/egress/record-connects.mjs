/**
 * Loaded into a process of ours before anything else (`NODE_OPTIONS=--import`): writes down where each socket of Node
 * connects to, into the file that CONNECT_LOG names. Nothing else changes.
 */
import { appendFileSync } from 'node:fs';
import { Socket } from 'node:net';

const role = process.argv.at(-1);
const { connect } = Socket.prototype;
Socket.prototype.connect = function recorded(...args) {
  // `net.connect` hands over its arguments as one array that it has put in order.
  const [first, second] = Array.isArray(args[0]) ? args[0] : args;
  const options = typeof first === 'object' ? first : { port: first, host: second };
  const peer = options.path ?? `${options.host ?? 'localhost'}:${options.port}`;
  appendFileSync(process.env.CONNECT_LOG, `${JSON.stringify({ role, peer })}\n`);
  return Reflect.apply(connect, this, args);
};
