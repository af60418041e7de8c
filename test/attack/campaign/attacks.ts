/**
 * What attackers do repeatedly: hostile uploads and outputs, schemas and JSON designed to cost time, names whose
 * server stays silent or changes its answers, slow bodies and readers, endless streams and sessions. Each waits for
 * its response before it continues, so that the rate of an attack is known: its lanes and its pause.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { newApiKey } from '../../../src/accounts/api-key.ts';
import { HOSTILE_CONTAINERS, matroskaBlocks, mp4, oggPages } from '@darkroom/testing/hostile-containers';
import { mutated } from '@darkroom/testing/mutations';
import {
  BACKGROUND_CALLS,
  BATCHES,
  EXPRESSIONS,
  LARGE_LINES,
  WAITING_BATCHES,
  WRONG_HASHES,
} from './lasting-attacks.ts';
import type { Attack, Host } from './host.ts';

const CONTAINERS = Object.values(HOSTILE_CONTAINERS).map((make) => make());
const SAMPLES = [
  mp4([
    { kind: 'video', tables: {} },
    { kind: 'pcm', tables: {} },
  ]),
  matroskaBlocks(40),
  oggPages(40),
];
const TEXT = 'darkroom/conformance-text';
const HOLD_MS = 20_000;
/** Longer than a request may take, so that the server ends it. */
const BODY_HOLD_MS = 45_000;

const UPLOADS: Attack = {
  name: 'mutated uploads',
  lanes: 1,
  pauseMs: 1_000,
  async run(host, number) {
    const sample = number % 3 === 0 ? host.random.pick(CONTAINERS) : mutated(host.random.pick(SAMPLES), host.random);
    await host.send('mutated uploads', 'POST', '/v1/files', sample, { 'content-type': 'application/octet-stream' });
  },
};

/** Callbacks of the same tasks go to names that never resolve, or have one address too many. */
const OUTPUTS: Attack = {
  name: 'hostile outputs and callbacks',
  lanes: 1,
  pauseMs: 3_000,
  async run(host, number) {
    const marker = `marker-${host.attacker}-${number}-`;
    const zone = number % 2 === 0 ? 'silent.test' : 'mixed.test';
    await host.send('hostile outputs and callbacks', 'POST', '/v1/tasks', {
      model: 'chaos/unkeyed',
      input: { prompt: `${marker} [container ${number}]` },
      metadata: { marker },
      callback: { url: `https://n${number}.${host.attacker}.${zone}/hook` },
    });
  },
};

const looped = {
  $defs: { a: { allOf: Array.from({ length: 64 }, () => ({ $ref: '#/$defs/a' })) } },
  $ref: '#/$defs/a',
};
const selfAllOf = { type: 'object', allOf: Array.from({ length: 8 }, () => ({ $ref: '#' })) };
const many = (count: number): Record<string, object> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, { type: 'string', pattern: '(a+)+$' }]));
const SCHEMA_BODIES = [looped, selfAllOf, { type: 'object', properties: many(4_000) }].flatMap((schema) => {
  const messages = [{ role: 'user', content: 'Answer.' }];
  return [
    { model: TEXT, messages, response_format: { type: 'json_schema', json_schema: { name: 'it', schema } } },
    { model: TEXT, messages, tools: [{ type: 'function', function: { name: 'it', parameters: schema } }] },
  ].map((body) => JSON.stringify(body));
});

const SCHEMAS: Attack = {
  name: 'schemas',
  lanes: 1,
  pauseMs: 1_000,
  async run(host, number) {
    await host.send('schemas', 'POST', '/v1/chat/completions', SCHEMA_BODIES[number % SCHEMA_BODIES.length]);
  },
};

const JSON_BODIES = [
  `{"a":${'['.repeat(5_000)}`,
  `{${Array.from({ length: 20_000 }, (_, index) => `"a${index}":1`).join(',')}}`,
  `[${Array.from({ length: 20 }, () => `[${'1,'.repeat(4_500)}1]`).join(',')}]`,
  JSON.stringify({ model: 'chaos/keyed', input: { prompt: 'x'.repeat(4_000_000) } }),
  JSON.stringify({ model: 'chaos/keyed', input: { prompt: '\u0000\ud800'.repeat(100_000) } }),
  '{"model":"chaos/keyed","model":"chaos/keyed","__proto__":{"a":1},"input":{"prompt":"a"}}',
];

const BODIES: Attack = {
  name: 'large JSON',
  lanes: 1,
  pauseMs: 1_500,
  async run(host, number) {
    const path = number % 2 === 0 ? '/v1/tasks/estimate' : '/v1/chat/completions';
    await host.send('large JSON', 'POST', path, JSON_BODIES[number % JSON_BODIES.length]);
  },
};

const IMAGES: Attack = {
  name: 'addresses of images',
  lanes: 1,
  pauseMs: 1_000,
  async run(host, number) {
    const addresses = [
      'https://10.0.0.5/a.png',
      'https://[::1]/a.png',
      'https://169.254.169.254/latest',
      `https://i${number}.silent.test/a.png`,
      `https://i${number}.rebind.test/a.png`,
    ];
    const content = [{ type: 'image_url', image_url: { url: addresses[number % addresses.length] } }];
    const body = { model: TEXT, messages: [{ role: 'user', content }] };
    await host.send('addresses of images', 'POST', '/v1/chat/completions', body);
  },
};

/** Only the beginning of the body is sent, and then a byte now and then. */
const HALF_BODIES: Attack = {
  name: 'half-sent bodies',
  lanes: 20,
  pauseMs: 1_000,
  async run(host) {
    const socket = host.open('half-sent bodies');
    const isAnonymous = host.key === undefined;
    const length = isAnonymous ? 250_000 : 9_000_000;
    const headers = {
      'content-type': 'application/json',
      'x-darkroom-dashboard': '1',
      'content-length': String(length),
    };
    socket.write(host.head('POST', isAnonymous ? '/session' : '/v1/tasks', headers));
    socket.write('{"a":"'.padEnd(length / 10, 'A'));
    await dripUntilClosed(socket, BODY_HOLD_MS);
  },
};

async function dripUntilClosed(socket: ReturnType<Host['open']>, holdMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  const drip = setInterval(() => socket.write('A'), 1_000);
  await Promise.race([closed, sleep(holdMs)]);
  clearInterval(drip);
  socket.destroy();
}

const SLOW_HEADS: Attack = {
  name: 'half-sent heads',
  lanes: 20,
  pauseMs: 1_000,
  async run(host) {
    const socket = host.open('half-sent heads');
    socket.write('GET /v1/models HTTP/1.1\r\nhost: attacked\r\nx-a: ');
    await dripUntilClosed(socket, HOLD_MS);
  },
};

/** Event streams and long polls of a slow task, many more than any client needs. */
const STREAMS: Attack = {
  name: 'open streams and long polls',
  lanes: 60,
  pauseMs: 5_000,
  async run(host, number) {
    const marker = `marker-${host.attacker}-stream-${number}-`;
    const isFirst = number % 60 === 0;
    if (isFirst || streamed.taskId === undefined) {
      const created = await host.send('open streams and long polls', 'POST', '/v1/tasks', {
        model: 'chaos/keyed',
        input: { prompt: `${marker} [slow 8000]` },
        metadata: { marker },
      });
      streamed.taskId = (created?.['data'] as { taskId?: string } | undefined)?.taskId ?? streamed.taskId;
    }
    if (streamed.taskId === undefined) return;
    const socket = host.open('open streams and long polls');
    const isPoll = number % 3 === 0;
    const path = isPoll ? `/v1/tasks/${streamed.taskId}` : `/v1/tasks/${streamed.taskId}/events`;
    const wish: Record<string, string> = isPoll
      ? { prefer: `wait=${'9'.repeat(2_000)}` }
      : { accept: 'text/event-stream' };
    socket.write(host.head('GET', path, wish));
    await Promise.race([new Promise<void>((resolve) => void socket.once('close', () => resolve())), sleep(HOLD_MS)]);
    socket.destroy();
  },
};
const streamed: { taskId: string | undefined } = { taskId: undefined };

/** Lists and sums whose responses are not awaited. */
const LISTS: Attack = {
  name: 'lists',
  lanes: 1,
  pauseMs: 500,
  async run(host, number) {
    const paths = [
      '/v1/tasks?size=100',
      '/v1/account/ledger?size=100',
      '/v1/tasks?size=100&page=900',
      '/v1/account/usage',
    ];
    await host.send('lists', 'GET', paths[number % paths.length] ?? '');
  },
};

const SESSIONS: Attack = {
  name: 'sessions',
  lanes: 2,
  pauseMs: 1_000,
  async run(host, number) {
    const key = host.key === undefined || number % 4 === 0 ? newApiKey().secret : host.key;
    await host.send('sessions', 'POST', '/session', { key }, { 'x-darkroom-dashboard': '1' });
  },
};

const KEYS: Attack = {
  name: 'unknown keys',
  lanes: 1,
  pauseMs: 500,
  async run(host) {
    const authorization = `Bearer ${newApiKey().secret}`;
    await host.send('unknown keys', 'GET', '/v1/tasks', undefined, { authorization });
  },
};

/** The attacks of each of the three attackers. Creates of one account share its budget. */
export const ATTACKS: Readonly<Record<string, readonly Attack[]>> = {
  mallory: [UPLOADS, OUTPUTS, BODIES, BATCHES, LARGE_LINES, IMAGES, SESSIONS, BACKGROUND_CALLS],
  trudy: [
    UPLOADS,
    SCHEMAS,
    HALF_BODIES,
    STREAMS,
    LISTS,
    OUTPUTS,
    EXPRESSIONS,
    WRONG_HASHES,
    WAITING_BATCHES,
    BACKGROUND_CALLS,
  ],
  anonymous: [HALF_BODIES, SLOW_HEADS, SESSIONS, KEYS],
};

export const ATTACK_NAMES: readonly string[] = [
  ...new Set(Object.values(ATTACKS).flatMap((attacks) => attacks.map(({ name }) => name))),
];
