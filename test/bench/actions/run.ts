/**
 * `npm run bench -- actions`: what one task of each kind costs at Temporal Cloud, in billable actions, and the events
 * and bytes of its histories, as a table for docs/operations/temporal.md. A real Temporal server counts the actions.
 */
import { Command } from '@commander-js/extra-typings';
import { KINDS, WorkCounter } from '../../support/counted-work.ts';
import type { CountedWork } from '../../support/counted-work.ts';
import { startServices } from '../../support/services.ts';
import { positiveNumber } from '../../support/number-options.ts';
import { table } from '../../docs/markdown-table.ts';
import { SEARCH_ATTRIBUTES } from '../../../src/temporal/search-attributes.ts';

const { seconds } = new Command('npm run bench -- actions')
  .description('Counts the billable actions of one task of each kind.')
  .option('--seconds <number>', 'how long an upstream takes', positiveNumber, 10)
  .parse()
  .opts();

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

print('Starting PostgreSQL, Temporal, an api and a worker.');
const services = await startServices(SEARCH_ATTRIBUTES, process.env, print);
try {
  process.env['DARKROOM_TEST_DATABASE_URL'] = services.databaseUrl;
  process.env['DARKROOM_TEST_TEMPORAL_ADDRESS'] = services.temporalAddress;
  const counter = await WorkCounter.start(services.temporalMetricsUrl);
  try {
    await report(counter);
  } finally {
    await counter.stop();
  }
} finally {
  await services.stop();
}

async function report(counter: WorkCounter): Promise<void> {
  const rows: (readonly string[])[] = [];
  const add = (title: string, counted: CountedWork): void => {
    const types = [...counted.byType].toSorted(([a], [b]) => a.localeCompare(b));
    print(`${title}: ${types.map(([type, count]) => `${type} ${count}`).join(', ')}`);
    const { actions, heartbeats, events, bytes } = counted;
    rows.push([title, ...[actions, heartbeats, events, bytes].map(String)]);
  };
  for (const kind of Object.values(KINDS)) {
    const work = kind.isUpstream ? `, ${seconds} s` : '';
    add(`${kind.title}${work}`, await counter.count(kind, seconds * 1000));
  }
  add('a pass of the maintenance of every minute, without its schedule', await counter.countMaintenance());
  print(`\n${table(['work', 'actions', 'of them heartbeats', 'events', 'bytes of history'], rows)}`);
}
