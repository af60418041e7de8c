/**
 * Loaded into the api and the workers of a campaign before anything else (`node --import`): it steps their clock by
 * what a file says, leaving the monotonic one alone, and logs to which addresses they connect. The program knows
 * nothing of it.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import process from 'node:process';

const { CHAOS_CLOCK_FILE: clockFile, CHAOS_CONNECTIONS_FILE: connectionsFile } = process.env;
const CHECK_INTERVAL_MS = 200;

if (clockFile !== undefined) {
  const RealDate = Date;
  let offsetMs = 0;
  const look = () => {
    try {
      const found = Number(readFileSync(clockFile, 'utf8')) || 0;
      if (found !== offsetMs) appendFileSync(`${clockFile}.seen`, `${found}\n`);
      offsetMs = found;
    } catch {
      // No one has stepped it yet.
    }
  };
  look();
  setInterval(look, CHECK_INTERVAL_MS).unref();
  const now = () => RealDate.now() + offsetMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}

if (connectionsFile !== undefined) {
  const seen = new Set();
  const connect = Reflect.get(Socket.prototype, 'connect');
  Socket.prototype.connect = function recordedConnect(...args) {
    this.once('connect', () => {
      const address = `${this.remoteAddress}:${this.remotePort}`;
      if (this.remotePort === undefined || seen.has(address)) return;
      seen.add(address);
      appendFileSync(connectionsFile, `${address}\n`);
    });
    return Reflect.apply(connect, this, args);
  };
}
