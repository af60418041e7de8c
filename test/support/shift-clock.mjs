/**
 * Loaded before our processes by `--import`: moves the wall clock of the role that `CLOCK_SHIFT_ROLE` names by the
 * milliseconds that stand in the file that `CLOCK_SHIFT_FILE` names, and follows the file. Timers and the steady clock are left alone, as a machine does whose
 * clock is set wrong.
 */
import { readFileSync } from 'node:fs';

const CHECK_INTERVAL_MS = 100;
const { CLOCK_SHIFT_FILE: file, CLOCK_SHIFT_ROLE: role } = process.env;

if (file !== undefined && process.argv.includes(role)) {
  const MachineDate = globalThis.Date;
  let shiftMs = 0;
  const look = () => {
    shiftMs = Number(readFileSync(file, 'utf8')) || 0;
  };
  look();
  setInterval(look, CHECK_INTERVAL_MS).unref();
  const now = () => MachineDate.now() + shiftMs;
  globalThis.Date = new Proxy(MachineDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new MachineDate(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}
