/**
 * An attacker, a process of its own: attacks of its list in their lanes, until it receives a stop message.
 *
 * Usage: `node dist/test/attack/campaign/attacker.js --attacker <name> --address 127.0.0.2 --api <url>,<url>
 * --log <file> --seed <n> [--key <key>]`; `{"type":"begin","attacks":[<name>]}` and `{"type":"stop"}` over its
 * channel, repeatedly.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createRandom } from '@darkroom/testing/random';
import { ATTACKS } from './attacks.ts';
import { openHost } from './host.ts';
import type { Attack } from './host.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: { attacker: text, address: text, api: text, log: text, seed: text, key: text },
});
const { attacker = '', address = '', api = '', log = '', seed = '1', key } = values;
const random = createRandom(Number(seed), `attacker ${attacker}`);
const host = openHost({ attacker, address, apiUrls: api.split(','), key, log, random });
/** Replaced when the attacks of this moment are to end. */
let end = new AbortController();

async function attack(each: Attack, { signal }: AbortController): Promise<void> {
  const { lanes, pauseMs } = each;
  let number = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (!signal.aborted) {
        await each.run(host, number++).catch(() => undefined);
        await sleep(random.between(pauseMs / 2, pauseMs * 1.5));
      }
    }),
  );
}

process.on('message', ({ type, attacks = [] }: { type: string; attacks?: readonly string[] }) => {
  if (type === 'begin') {
    for (const each of ATTACKS[attacker] ?? []) if (attacks.includes(each.name)) void attack(each, end);
  }
  if (type === 'stop') {
    end.abort();
    end = new AbortController();
  }
});
process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0));
process.send?.({ type: 'ready' });
