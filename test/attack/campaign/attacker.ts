/**
 * An attacker, a process of its own: every attack of its list in its lanes, until it receives a stop message.
 *
 * Usage: `node dist/test/attack/campaign/attacker.js --attacker <name> --address 127.0.0.2 --api <url>,<url>
 * --log <file> --seed <n> [--key <key>]`; `{"type":"begin"}` and `{"type":"stop"}` over its channel.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createRandom } from '@darkroom/testing/random';
import { ATTACKS } from './attacks.ts';
import type { Attack } from './attacks.ts';
import { openHost } from './host.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: { attacker: text, address: text, api: text, log: text, seed: text, key: text },
});
const { attacker = '', address = '', api = '', log = '', seed = '1', key } = values;
const random = createRandom(Number(seed), `attacker ${attacker}`);
const host = openHost({ attacker, address, apiUrls: api.split(','), key, log, random });
let isOver = false;

async function attack({ lanes, pauseMs, run }: Attack): Promise<void> {
  let number = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (!isOver) {
        await run(host, number++).catch(() => undefined);
        await sleep(random.between(pauseMs / 2, pauseMs * 1.5));
      }
    }),
  );
}

process.on('message', ({ type }: { type: string }) => {
  if (type === 'begin') for (const each of ATTACKS[attacker] ?? []) void attack(each);
  if (type === 'stop') isOver = true;
});
process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0));
process.send?.({ type: 'ready' });
