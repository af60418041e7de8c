/**
 * The drills of an operator: what an installation depends on is taken away, part by part, while a client uses it
 * through the shipped proxy, and a real Prometheus and a real Alertmanager watch with the shipped files. Each fault has
 * its alert, alerts end with their faults, and nothing else fires, then or later. Takes half an hour, most of which is
 * the `for` of the rules; with WRITE_DRILLS=1 the timeline is written into docs/operations/drills.md.
 */
import assert from 'node:assert/strict';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { packageFile } from '../../src/config/package-root.ts';
import { resumeUpstream } from '../../src/upstreams/states.ts';
import { openLink } from '../chaos/world/proxy.ts';
import type { Link } from '../chaos/world/proxy.ts';
import { shippedCaddyfile, startCaddy, whyNoCaddy } from '../deploy/caddy-program.ts';
import { readRules, startMonitoring, whyNoMonitoring } from '../drills/monitoring.ts';
import type { Monitoring, Rule } from '../drills/monitoring.ts';
import { startOutside } from '../drills/outside.ts';
import type { Outside } from '../drills/outside.ts';
import { startTraffic } from '../drills/traffic.ts';
import type { Traffic, Use } from '../drills/traffic.ts';
import { ApiClient } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { startDatabaseWire } from '../support/database-wire.ts';
import type { DatabaseWire } from '../support/database-wire.ts';
import { letPass } from '../support/let-pass.ts';
import { writeModelFiles } from '../support/model-files.ts';
import { servingUrl } from '../support/pooled-run.ts';
import { reservePort } from '../support/reserve-port.ts';
import { temporalAddress } from '../support/test-namespace.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';

/** The issue that alerts answer to: an operator is notified this soon. */
const NOTIFIED_WITHIN_SECONDS = 120;
/** The scrape interval and the evaluation interval of deploy/docker/prometheus/prometheus.yml: each can just have passed. */
const INTERVALS_SECONDS = 30;
/** Rules that need longer say nothing about a fault of minutes. */
const DRILLED_FOR_SECONDS = 120;
const NORMAL_MINUTES = 5;
/** True where a machine has more work than processors, as those of tests have. */
const OF_THE_MACHINE = new Set(['DarkroomEventLoopLag', 'DarkroomApiSlow']);

const DRILLED = [
  'DarkroomApiErrors',
  'DarkroomCallbacksFailing',
  'DarkroomCredentialRejected',
  'DarkroomDatabaseDown',
  'DarkroomModelFileRejected',
  'DarkroomNoWorker',
  'DarkroomOutboxOld',
  'DarkroomPassItemsFailing',
  'DarkroomProcessDown',
  'DarkroomQueueBacklog',
  'DarkroomStoreDown',
  'DarkroomTasksFailing',
  'DarkroomTemporalRejects',
  'DarkroomTemporalUnreachable',
  'DarkroomTextFailing',
  'DarkroomUpstreamFailing',
];

interface Drill {
  readonly fault: string;
  /** All of them fire. */
  readonly alerts: readonly string[];
  /** What may fire as well, because it is true. */
  readonly alsoTrue?: readonly string[];
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
}

interface Entry {
  readonly fault: string;
  /** What fired, with the seconds after the fault began. */
  readonly fired: ReadonlyMap<string, number>;
  /** Seconds from the end of the fault until nothing was firing. */
  readonly quietAfter: number;
  readonly answers: ReadonlyMap<Use, ReadonlySet<string>>;
}

describe(
  'the alerts of deploy/docker/prometheus',
  { skip: whyNoMonitoring() || whyNoCaddy(), timeout: 5_400_000 },
  () => {
    let provider: TestProvider;
    let providerLink: Link;
    let outside: Outside;
    let modelsDir: string;
    let wire: DatabaseWire;
    let temporal: Link;
    let darkroom: Darkroom;
    let monitoring: Monitoring;
    let traffic: Traffic;
    let rules: readonly Rule[];
    const closing: (() => unknown)[] = [];
    const timeline: Entry[] = [];

    before(async () => {
      rules = await readRules();
      provider = await startTestProvider();
      closing.push(() => provider.stop());
      providerLink = await openLink(Number(new URL(provider.url).port));
      closing.push(() => providerLink.close());
      outside = await startOutside(provider.url);
      closing.push(() => outside.stop());
      const away = `http://127.0.0.1:${providerLink.port}`;
      modelsDir = await writeModelFiles(provider.url, {
        away: [{ protocol: 'tasks', id: 'provider-away', baseUrl: `${away}/tasks/v1` }],
        rejecting: [{ protocol: 'tasks', id: 'provider-rejecting', baseUrl: `${outside.url}/tasks/v1` }],
      });
      closing.push(() => rm(modelsDir, { recursive: true, force: true }));
      await writeFile(path.join(modelsDir, 'text.json'), JSON.stringify(textModel(outside.url)));
      wire = await startDatabaseWire(servingUrl());
      closing.push(() => wire.close());
      temporal = await openLink(Number(new URL(`http://${temporalAddress()}`).port));
      closing.push(() => temporal.close());
      darkroom = await startDarkroom({
        apis: 2,
        workers: 2,
        hasMetrics: true,
        isSupervised: true,
        databaseServer: wire.url,
        environment: {
          TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}`,
          MODELS_DIR: modelsDir,
          UPSTREAM_TEST_KEY: 'test-key',
          EGRESS_ALLOW: [provider.url, away, outside.url].join(','),
          // What is broken is noticed soon; a scrape has 10 s, and the machine other work.
          DARKROOM_TEST_TIME_OUTS: '2',
        },
      });
      closing.push(() => darkroom.stop());
      const url = `http://127.0.0.1:${await reservePort()}`;
      closing.push(
        await startCaddy(
          shippedCaddyfile(
            url,
            darkroom.urls.map((each) => new URL(each).host),
          ),
        ),
      );
      await waitFor(
        'the proxy reaches an api',
        async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true,
      );

      const account = await darkroom.createAccount({ runningCap: 1_000, queueCap: 10_000 });
      const client = new ApiClient([url], account.client.key);
      const created = await client.create({ model: 'darkroom/poster', input: { prompt: 'a lighthouse' } });
      assert.equal(created.status, 200, JSON.stringify(created.body));
      const { taskId, output } = await client.waitForTerminal(created.body.data.taskId);
      const download = `${url}${new URL(output?.[0]?.url ?? '').pathname}`;
      traffic = startTraffic({
        url,
        key: client.key,
        done: { taskId, download },
        callbackUrl: `${outside.url}/callbacks`,
        models: { tasks: ['test/away', 'test/rejecting'], text: 'test/text' },
      });
      closing.push(() => traffic.stop());
      const hosts = darkroom.metricsUrls.map((each) => new URL(each).host);
      monitoring = await startMonitoring({ 'darkroom-api': hosts.slice(0, 2), 'darkroom-worker': hosts.slice(2) }, url);
      closing.push(() => monitoring.stop());
      await waitFor('nothing is wrong', async () => (await fired()).size === 0);
    });
    after(async () => {
      temporal?.set('pass');
      wire?.repair();
      for (const close of closing.toReversed()) await close();
      const table = tableOf(timeline);
      process.stdout.write(`\n${table}\n`);
      if (process.env['WRITE_DRILLS'] === '1') await writeTable(table);
    });

    /** Names of the alerts that are firing or about to, except for those of the machine and those that take long. */
    async function fired(): Promise<ReadonlySet<string>> {
      const soon = new Set(rules.filter((rule) => forSeconds(rule) <= DRILLED_FOR_SECONDS).map(({ alert }) => alert));
      const evaluated = await monitoring.evaluated();
      return new Set(
        evaluated.map(({ labels }) => labels.alertname).filter((name) => soon.has(name) && !OF_THE_MACHINE.has(name)),
      );
    }

    async function isPending(): Promise<boolean> {
      const names = await fired();
      return (await monitoring.evaluated()).some(
        ({ state, labels }) => state === 'pending' && names.has(labels.alertname),
      );
    }

    /** Whatever has a notification since that moment, and is not of the machine. */
    function notifiedSince(moment: number): ReadonlyMap<string, number> {
      const found = new Map<string, number>();
      for (const { at, status, labels } of monitoring.notifications) {
        const isNew = at >= moment && status === 'firing' && !found.has(labels.alertname);
        if (isNew && !OF_THE_MACHINE.has(labels.alertname)) found.set(labels.alertname, (at - moment) / 1000);
      }
      return found;
    }

    async function hold({ fault, alerts, alsoTrue = [], begin, end }: Drill): Promise<void> {
      traffic.take();
      await begin();
      const began = Date.now();
      let ended: number;
      try {
        await waitFor(
          () => `${alerts.join()} (fired: ${[...notifiedSince(began).keys()].join()})`,
          async () => alerts.every((name) => notifiedSince(began).has(name)) && !(await isPending()),
          1_000,
        );
      } finally {
        await end();
        ended = Date.now();
      }
      const during = notifiedSince(began);
      await waitFor('everything is right again', async () => (await fired()).size === 0, 1_000);
      const entry = {
        fault,
        fired: notifiedSince(began),
        quietAfter: (Date.now() - ended) / 1000,
        answers: traffic.take(),
      };
      timeline.push(entry);
      // Also if a later one hangs.
      process.stdout.write(`${rowOf(entry)}\n`);

      const unexpected = [...entry.fired.keys()].filter((name) => ![...alerts, ...alsoTrue].includes(name));
      assert.deepEqual(unexpected, [], 'alerts that say what is not so');
      assert.deepEqual(
        [...entry.fired.keys()].filter((name) => !during.has(name)),
        [],
        'alerts after the recovery',
      );
      assert.deepEqual(traffic.broken.splice(0), [], 'answers that a client is not promised');
    }

    it('notify within two minutes of what is drilled, by their own figures', () => {
      for (const name of DRILLED) {
        const rule = rules.find(({ alert }) => alert === name);
        assert.ok(rule, name);
        const [, age = '0'] = /_age_seconds.*> (\d+)/.exec(rule.expr) ?? [];
        const seconds = Number(age) + forSeconds(rule) + INTERVALS_SECONDS;
        assert.ok(seconds <= NOTIFIED_WITHIN_SECONDS, `${name} takes ${seconds} s`);
      }
    });

    it('say that Temporal rejects deliveries, and no longer when it accepts them', async () => {
      const { operatorService } = darkroom.temporal.connection;
      const [attribute, namespace] = ['Model', darkroom.namespace];
      await hold({
        fault: 'a search attribute is removed from the namespace',
        alerts: ['DarkroomTemporalRejects'],
        alsoTrue: ['DarkroomOutboxOld', 'DarkroomQueueBacklog'],
        begin: () => operatorService.removeSearchAttributes({ searchAttributes: [attribute], namespace }),
        end: () => operatorService.addSearchAttributes({ searchAttributes: { [attribute]: KEYWORD }, namespace }),
      });
    });

    it('say that a pass leaves an item out, and no longer when it does not', async () => {
      const { database } = darkroom.testDatabase;
      await hold({
        fault: 'the database rejects a step of each pass; the third pass has failed',
        alerts: ['DarkroomPassItemsFailing'],
        async begin() {
          await database.query(createRejection, []);
          await database.query(createTrigger, []);
          await passesUntil(darkroom, (failures) => failures > 2);
        },
        async end() {
          await database.query(dropRejection, []);
          await passesUntil(darkroom, (failures) => failures === 0);
        },
      });
    });

    it('name each provider, receiver and file that fails, all at once', async () => {
      const file = path.join(modelsDir, 'openai.json');
      const good = await readFile(file, 'utf8');
      await hold({
        fault:
          'a provider is away, one rejects its key, one of text and a receiver answer 500, and a model file is bad',
        alerts: [
          'DarkroomUpstreamFailing',
          'DarkroomCredentialRejected',
          'DarkroomTextFailing',
          'DarkroomCallbacksFailing',
          'DarkroomModelFileRejected',
        ],
        // A text call that its upstream fails is answered with 503.
        alsoTrue: ['DarkroomTasksFailing', 'DarkroomApiErrors'],
        async begin() {
          providerLink.set('refuse');
          outside.rejectsKey = true;
          outside.isFailing = true;
          await writeFile(file, good.replace('"usd":"0.03"', '"usd":true'));
        },
        async end() {
          providerLink.set('pass');
          outside.rejectsKey = false;
          outside.isFailing = false;
          await writeFile(file, good);
          // As the runbook says.
          await resumeUpstream(darkroom.testDatabase.database, 'provider-rejecting');
        },
      });
      const rejected = monitoring.notifications.find(({ labels }) => labels.alertname === 'DarkroomModelFileRejected');
      assert.deepEqual([rejected?.labels['file'], rejected?.labels['member']], [file, 'pricing.usd']);
    });

    it('say that the database is away', () =>
      hold({
        fault: 'the database is away',
        alerts: ['DarkroomDatabaseDown', 'DarkroomApiErrors'],
        begin: async () => wire.cut(),
        end: async () => wire.repair(),
      }));

    it('say that the store is away', async () => {
      const { storeDirectory } = darkroom;
      await hold({
        fault: 'the store is away',
        alerts: ['DarkroomStoreDown', 'DarkroomApiErrors'],
        async begin() {
          await rename(storeDirectory, `${storeDirectory}-away`);
          await writeFile(storeDirectory, 'no directory');
        },
        async end() {
          await rm(storeDirectory);
          await rename(`${storeDirectory}-away`, storeDirectory);
        },
      });
    });

    it('say that Temporal is away', () =>
      hold({
        fault: 'Temporal is away',
        alerts: ['DarkroomTemporalUnreachable'],
        alsoTrue: ['DarkroomOutboxOld', 'DarkroomNoWorker'],
        begin: async () => temporal.set('refuse'),
        end: async () => temporal.set('pass'),
      }));

    it('say that there is no worker, and that work waits for one', () =>
      hold({
        fault: 'all workers are away',
        alerts: ['DarkroomNoWorker', 'DarkroomProcessDown', 'DarkroomQueueBacklog'],
        begin: () => Promise.all(darkroom.workers.map((worker) => worker.kill())),
        end: () => Promise.all(darkroom.workers.map((worker) => worker.start())),
      }));

    it('say that a process hangs', async () => {
      const [worker] = darkroom.workers;
      assert.ok(worker);
      const { pid } = worker;
      await hold({
        fault: 'one of two workers hangs',
        alerts: ['DarkroomProcessDown'],
        begin: async () => process.kill(pid, 'SIGSTOP'),
        end: async () => process.kill(pid, 'SIGCONT'),
      });
    });

    it('say that the apis are away', () =>
      hold({
        fault: 'all apis are away',
        alerts: ['DarkroomProcessDown'],
        begin: () => Promise.all(darkroom.apis.map((api) => api.kill())),
        end: () => Promise.all(darkroom.apis.map((api) => api.start())),
      }));

    it('say nothing while everything works, after all that', async () => {
      const began = Date.now();
      await letPass(NORMAL_MINUTES * 60_000);
      assert.deepEqual([...notifiedSince(began).keys()], []);
    });

    it('lead to the guide, and leave no field of their texts empty', () => {
      for (const { annotations, labels } of monitoring.notifications) {
        assert.match(
          annotations['runbook_url'] ?? '',
          /^http:\/\/127\.0\.0\.1:\d+\/guide\/operations\/runbook#[a-z0-9-]+$/,
        );
        for (const text of Object.values(annotations)) {
          assert.doesNotMatch(text, /<no value>|%!|\s$| {2}|: *$/, `${labels.alertname}: ${text}`);
        }
      }
    });
  },
);

/** Seconds of `for`: 0, `30s` or `10m`. */
function forSeconds(rule: Rule): number {
  const [, number = '0', unit = 's'] = /^(\d+)([sm])$/.exec(rule.for ?? '0s') ?? [];
  return Number(number) * (unit === 'm' ? 60 : 1);
}

/** temporal.api.enums.v1.IndexedValueType */
const KEYWORD = 2;

function textModel(url: string): object {
  return {
    name: 'test/text',
    modality: 'text',
    ownedBy: 'test',
    created: 1_763_683_200,
    description: 'For drills.',
    upstreams: [{ protocol: 'openai', baseUrl: `${url}/text/v1`, secret: 'test', model: 'words' }],
    contextTokens: 8_000,
    maxOutputTokens: 100,
    features: [],
    pricing: { unit: 'token', inputUsd: '1', outputUsd: '1' },
  };
}

const createRejection = {
  name: 'test_drill_function',
  text: `CREATE FUNCTION test_reject() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''a drill''; END'`,
};
const createTrigger = {
  name: 'test_drill_trigger',
  text: 'CREATE TRIGGER test_reject BEFORE DELETE ON rate_buckets FOR EACH STATEMENT EXECUTE FUNCTION test_reject()',
};
const dropRejection = { name: 'test_drill_drop', text: 'DROP FUNCTION test_reject() CASCADE' };
const retryNow = { name: 'test_drill_retry', text: 'UPDATE failing_items SET retry_at = now()' };
const mostFailures = {
  name: 'test_drill_failures',
  text: 'SELECT coalesce(max(failures), 0)::integer AS failures FROM failing_items',
};

/** Lets the passes of maintenance follow each other without the minutes between them. */
async function passesUntil(darkroom: Darkroom, holds: (failures: number) => boolean): Promise<void> {
  const { database } = darkroom.testDatabase;
  const schedule = darkroom.temporal.schedule.getHandle(`${darkroom.installationId}-maintain`);
  await waitFor(
    'the passes have run',
    async () => {
      const [row] = await database.query<{ failures: number }>(mostFailures, []);
      if (holds(row?.failures ?? 0)) return true;
      await database.query(retryNow, []);
      await schedule.trigger();
      return false;
    },
    2_000,
  );
}

function tableOf(timeline: readonly Entry[]): string {
  const head = '| fault | alerts, with the seconds after its beginning | quiet after | what a client saw beside 200 |';
  return [head, '| --- | --- | --- | --- |', ...timeline.map(rowOf)].join('\n');
}

function rowOf({ fault, fired, quietAfter, answers }: Entry): string {
  const alerts = [...fired].map(([name, seconds]) => `\`${name}\` ${seconds.toFixed(0)}`);
  return `| ${[fault, alerts.join(', '), quietAfter.toFixed(0), answersOf(answers)].join(' | ')} |`;
}

/** `503: create, read; 401: chat`. */
function answersOf(answers: ReadonlyMap<Use, ReadonlySet<string>>): string {
  const uses = new Map<string, string[]>();
  for (const [use, outcomes] of answers) {
    for (const outcome of outcomes) if (outcome !== '200') uses.set(outcome, [...(uses.get(outcome) ?? []), use]);
  }
  return [...uses].map(([outcome, names]) => `${outcome}: ${names.join(', ')}`).join('; ');
}

/** Replaces the table of the page. */
async function writeTable(table: string): Promise<void> {
  const page = packageFile('docs/operations/drills.md');
  const text = await readFile(page, 'utf8');
  await writeFile(page, text.replace(/^\| fault [^]*?\n(?=\n|$)/m, `${table}\n`));
}
