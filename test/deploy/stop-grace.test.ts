/**
 * The grace time for stopping a worker is longer than the worker waits for upstreams, and that of an api longer than it
 * drains: in the files and in the documents.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { parse } from 'yaml';
import { packageFile } from '../../src/config/package-root.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { COMPOSE_FILE } from './compose-file.ts';

interface ComposeFile {
  readonly services: Readonly<Record<string, { readonly stop_grace_period?: string }>>;
}

/** The process itself may need five of them to end what is cut off. */
const MARGIN_SECONDS = 8;
const ENOUGH_SECONDS = Number(VARIABLES.UPSTREAM_GRACE_SECONDS.fallback) + MARGIN_SECONDS;
/** The longest that the documents recommend behind a load balancer. */
const DRAIN_SECONDS = 10;

/** @param duration in Compose's format: `15m10s`. */
function secondsOf(duration: string): number {
  const [, minutes = 0, seconds = 0] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(duration) ?? [];
  return Number(minutes) * 60 + Number(seconds);
}

function gracePeriodOf(service: string): string {
  const compose = parse(readFileSync(COMPOSE_FILE, 'utf8'), { merge: true }) as ComposeFile;
  return compose.services[service]?.stop_grace_period ?? '';
}

it('docker-compose.yml gives the worker its grace period', () => {
  const period = gracePeriodOf('worker');

  assert.ok(secondsOf(period) >= ENOUGH_SECONDS, `${period} is too short`);
});

it('docker-compose.yml lets an api drain for as long as the documents recommend, and then wait for upstreams', () => {
  const install = readFileSync(packageFile('docs/operations/install.md'), 'utf8');
  assert.ok(install.includes(`\`DRAIN_SECONDS\` (5 to ${DRAIN_SECONDS} behind a balancer`));

  const period = gracePeriodOf('api');

  const needed = DRAIN_SECONDS + ENOUGH_SECONDS;
  assert.ok(secondsOf(period) >= needed, `${period} is too short`);
});

it('the guide for operators names sufficient grace periods', () => {
  const guide = readFileSync(packageFile('docs/operations/scale.md'), 'utf8');
  const seconds = [...guide.matchAll(/terminationGracePeriodSeconds: (\d+)|TimeoutStopSec=(\d+)/g)].map(
    ([, kubernetes, systemd]) => Number(kubernetes ?? systemd),
  );

  assert.ok(seconds.length >= 2);
  for (const named of seconds) assert.ok(named >= ENOUGH_SECONDS, String(named));
});
