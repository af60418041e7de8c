/**
 * The grace time for stopping a worker is longer than the worker waits for upstreams: in the files and in the
 * documents.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { COMPOSE_FILE } from './compose-file.ts';

/** The worker itself may need five of them to end what is cut off. */
const MARGIN_SECONDS = 8;
const ENOUGH_SECONDS = Number(VARIABLES['UPSTREAM_GRACE_SECONDS']?.fallback) + MARGIN_SECONDS;

/** @param duration in Compose's format: `15m10s`. */
function secondsOf(duration: string): number {
  const [, minutes = 0, seconds = 0] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(duration) ?? [];
  return Number(minutes) * 60 + Number(seconds);
}

it('docker-compose.yml gives the worker its grace period', () => {
  const [, service = ''] = /^ {2}worker:\n((?: {4}.*\n|\n)+)/m.exec(readFileSync(COMPOSE_FILE, 'utf8')) ?? [];
  const [, period = ''] = /^ {4}stop_grace_period: (\S+)$/m.exec(service) ?? [];

  assert.ok(secondsOf(period) >= ENOUGH_SECONDS, `${period} is too short`);
});

it('the guide for operators names sufficient grace periods', () => {
  const guide = readFileSync(packageFile('docs/operations/scale.md'), 'utf8');
  const seconds = [...guide.matchAll(/terminationGracePeriodSeconds: (\d+)|TimeoutStopSec=(\d+)/g)].map(
    ([, kubernetes, systemd]) => Number(kubernetes ?? systemd),
  );

  assert.ok(seconds.length >= 2);
  for (const named of seconds) assert.ok(named >= ENOUGH_SECONDS, String(named));
});
