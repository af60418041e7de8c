/** The alert rules, the example for scraping and the dashboard name only existing metrics. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { packageFile } from '../../src/config/package-root.ts';
import { everyMetric } from './every-metric.ts';
import { SDK_METRICS_IN_FILES, namesIn } from './monitoring.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url?: string };
}

async function yaml<T>(file: string): Promise<T> {
  return parse(await readFile(packageFile(file), 'utf8')) as T;
}

async function rules(): Promise<readonly Rule[]> {
  const { groups } = await yaml<{ groups: { name: string; rules: Rule[] }[] }>('deploy/docker/prometheus/alerts.yml');
  return groups.flatMap((group) => group.rules);
}

async function dashboardQueries(): Promise<readonly string[]> {
  const text = await readFile(packageFile('deploy/docker/grafana/darkroom.json'), 'utf8');
  const { panels } = JSON.parse(text) as { panels: { targets?: { expr: string }[] }[] };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** A series of a histogram belongs to it. */
function familyOf(name: string, metrics: ReadonlyMap<string, string>): string {
  const base = name.replace(/_(?:bucket|sum|count)$/, '');
  return metrics.get(base) === 'histogram' ? base : name;
}

describe('the files for Prometheus and Grafana', () => {
  it('name no metric that a process does not have', async () => {
    const metrics = await everyMetric();
    const queries = [...(await rules()).map(({ expr }) => expr), ...(await dashboardQueries())];
    assert.ok(queries.length > 50, 'too few queries were found to say anything');

    const named = [...new Set(queries.flatMap(namesIn))];
    const unknown = named.filter(
      (name) => !metrics.has(familyOf(name, metrics)) && !SDK_METRICS_IN_FILES.includes(name),
    );
    assert.deepEqual(unknown, []);
    // Those of Temporal's SDK are compared with a real worker (test/e2e/metrics.test.ts).
    assert.deepEqual(
      SDK_METRICS_IN_FILES.filter((name) => !named.includes(name)),
      [],
    );
  });

  it('use only labels that each metric has', async () => {
    const labels = new Map([
      ['darkroom_http_requests_total', ['route', 'method', 'status']],
      ['darkroom_queue_age_seconds', ['queue']],
      ['darkroom_queue_backlog', ['queue']],
      ['darkroom_http_request_duration_seconds_bucket', ['route', 'method', 'status_class', 'le']],
      ['darkroom_tasks_oldest_age_seconds', ['status']],
      ['darkroom_task_stage_duration_seconds_bucket', ['model', 'stage', 'le']],
      ['darkroom_tasks_settled_total', ['model', 'status', 'reason']],
      ['darkroom_outbox_oldest_age_seconds', ['kind']],
      ['darkroom_repairs_total', ['kind']],
      ['darkroom_holds_oldest_age_seconds', ['kind']],
      ['darkroom_text_calls_total', ['model', 'outcome']],
      ['darkroom_callback_attempts_total', ['outcome']],
      ['darkroom_callback_deliveries_total', ['state']],
      ['darkroom_egress_requests_total', ['use', 'outcome']],
    ]);
    const ofEveryTarget = ['job', 'instance'];
    for (const query of [...(await rules()).map(({ expr }) => expr), ...(await dashboardQueries())]) {
      for (const [, name = '', matchers = ''] of query.matchAll(/([a-z_]+)\{([^}]*)\}/g)) {
        const used = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
        const unknown = used.filter(
          (label) => !ofEveryTarget.includes(label) && labels.get(name)?.includes(label) !== true,
        );
        assert.deepEqual(unknown, [], `${name} in ${query}`);
      }
    }
  });

  it('alert with a summary, an instruction, and a severity for routing', async () => {
    const all = await rules();
    assert.equal(new Set(all.map(({ alert }) => alert)).size, all.length);
    for (const { alert, labels, annotations } of all) {
      assert.match(alert, /^Darkroom[A-Z]\w+$/);
      assert.ok(['critical', 'warning'].includes(labels.severity), alert);
      assert.ok(annotations.summary !== '' && annotations.description !== '', alert);
    }
  });

  it('alert only with what the runbook has an answer to', async () => {
    const runbook = await readFile(packageFile('docs/operations/runbook.md'), 'utf8');
    const sections = runbook.split(/^## /m).slice(1);
    const all = await rules();
    assert.ok(all.length > 20);

    const missing = all.filter(({ alert }) => !sections.some((section) => section.includes(`\`${alert}\``)));
    assert.deepEqual(
      missing.map(({ alert }) => alert),
      [],
    );
    // The heading's words, in lower case and without punctuation, are its anchor.
    const anchors = new Map(
      sections.map((section) => {
        const [heading = ''] = section.split('\n');
        return [
          heading
            .toLowerCase()
            .replaceAll(/[^a-z0-9 -]/g, '')
            .replaceAll(' ', '-'),
          section,
        ] as const;
      }),
    );
    for (const { alert, annotations } of all) {
      const [url, anchor = ''] = (annotations.runbook_url ?? '').split('#');
      assert.equal(url, '{{ $externalLabels.darkroom_url }}/guide/operations/runbook', alert);
      assert.ok(anchors.get(anchor)?.includes(`\`${alert}\``) === true, `${alert}: #${anchor}`);
    }
    // One that no longer exists would send a reader into the void.
    const named = new Set([...runbook.matchAll(/`(Darkroom[A-Z]\w+)`/g)].map(([, name = '']) => name));
    const unknown = [...named].filter((name) => !all.some(({ alert }) => alert === name));
    assert.deepEqual(unknown, []);
  });

  it('count no probe as a request, and alert on states by gauges', async () => {
    const all = await rules();
    const exprOf = (name: string): string => all.find(({ alert }) => alert === name)?.expr ?? '';
    for (const probed of exprOf('DarkroomApiErrors').matchAll(/darkroom_http_requests_total\{([^}]*)\}/g)) {
      assert.match(probed[1] ?? '', /route!~"\/healthz\|\/readyz\|\/metrics"/);
    }
    for (const name of ['DarkroomPassItemsFailing', 'DarkroomTemporalRejects', 'DarkroomModelFileRejected']) {
      assert.notEqual(exprOf(name), '', name);
      assert.doesNotMatch(exprOf(name), /increase|rate|_total/, `${name} ends when its cause does`);
    }
  });

  it('scrape the jobs that the alerts use, by the rule file beside them', async () => {
    const config = await yaml<{ rule_files: string[]; scrape_configs: { job_name: string }[] }>(
      'deploy/docker/prometheus/prometheus.yml',
    );
    assert.deepEqual(config.rule_files, ['alerts.yml']);
    assert.deepEqual(
      config.scrape_configs.map(({ job_name: name }) => name),
      ['darkroom-api', 'darkroom-worker'],
    );
  });
});
