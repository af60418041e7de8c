/**
 * What the Helm chart gives Prometheus, Grafana and autoscalers: the same alerts and dashboard as `deploy/docker/`, and what
 * workers are scaled by.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { packageFile } from '../../src/config/package-root.ts';
import { everyMetric } from '../telemetry/every-metric.ts';
import { CHART, environmentOf, findObject, ofKind, readValues, render, withValue } from './helm-chart.ts';
import type { KubernetesObject } from './helm-chart.ts';
import { obtainHelm, whyNoHelm } from './helm-programs.ts';
import { invalidQueries } from './promql.ts';

describe('the metrics of the Helm chart', { skip: whyNoHelm(), timeout: 3_600_000 }, () => {
  let helm: string;
  let everything: readonly KubernetesObject[];
  before(async () => {
    helm = await obtainHelm('4.3.1');
    everything = await render(helm, await readValues('ci/everything-values.yaml'));
  });

  it('alert as deploy/docker/prometheus/alerts.yml, and show the dashboard of deploy/docker/grafana', async () => {
    type Groups = { groups: { name: string; rules: Record<string, unknown>[] }[] };
    const source = parse(await readFile(packageFile('deploy/docker/prometheus/alerts.yml'), 'utf8')) as Groups;
    const values = withValue(await readValues('ci/minimal-values.yaml'), 'metrics', {
      prometheusRule: { enabled: true },
      dashboards: { enabled: true },
    });
    const objects = await render(helm, values);
    const groups = findObject(objects, 'PrometheusRule', 'darkroom').spec.groups;

    // The chart knows where the guide is.
    const linked = JSON.stringify(source.groups).replaceAll(
      '{{ $externalLabels.darkroom_url }}',
      String(values['publicUrl']),
    );
    assert.deepEqual(groups, JSON.parse(linked));
    const changed = findObject(everything, 'PrometheusRule', 'darkroom').spec.groups;
    const rules = changed.flatMap((group) => group.rules);
    assert.equal(rules.length, source.groups.flatMap((group) => group.rules).length - 1);
    assert.ok(
      rules.every(
        ({ alert, labels }) => alert !== 'DarkroomEgressBlocked' && (labels as { team: string }).team === 'media',
      ),
    );
    const dashboard = findObject(objects, 'ConfigMap', '-dashboards').data?.['darkroom.json'];
    assert.deepEqual(
      JSON.parse(dashboard ?? ''),
      JSON.parse(await readFile(packageFile('deploy/docker/grafana/darkroom.json'), 'utf8')),
    );
    const jobs = ofKind(everything, 'ServiceMonitor').map(({ spec }) => spec.endpoints[0]?.relabelings[0]);
    assert.deepEqual(
      jobs.map((relabeling) => [relabeling?.targetLabel, relabeling?.replacement]),
      [
        ['job', 'darkroom-api'],
        ['job', 'darkroom-worker'],
      ],
    );
  });

  it('scale workers by the age of their queues, which every process reports', async () => {
    const metric = 'darkroom_queue_age_seconds';
    assert.equal((await everyMetric()).get(metric), 'gauge');

    const adapter = parse(await readFile(path.join(CHART, 'examples/prometheus-adapter.yaml'), 'utf8')) as {
      rules: { external: { seriesQuery: string; name: { as: string } }[] };
    };
    for (const { metadata, spec } of ofKind(everything, 'HorizontalPodAutoscaler')) {
      const external = spec.metrics.flatMap((metric) => metric.external?.metric ?? []);
      if (metadata.name.endsWith('-api')) {
        assert.deepEqual(
          spec.metrics.map(({ type }) => type),
          ['Resource'],
        );
        continue;
      }
      const environment = environmentOf(
        findObject(everything, 'Deployment', metadata.name).spec.template.spec,
        () => '',
      );
      assert.deepEqual(
        external.map(({ selector }) => selector.matchLabels['queue']),
        environment['WORKER_QUEUES']?.split(','),
      );
      for (const { name } of external) {
        assert.equal(name, metric);
        assert.deepEqual(
          adapter.rules.external.map((rule) => rule.name.as),
          [name],
        );
        assert.ok(adapter.rules.external[0]?.seriesQuery.startsWith(`${name}{`));
      }
    }
  });

  it('query Prometheus in its language', async () => {
    const { groups } = findObject(everything, 'PrometheusRule', 'darkroom').spec;
    const dashboard = findObject(everything, 'ConfigMap', '-dashboards').data?.['darkroom.json'] ?? '';
    const { panels } = JSON.parse(dashboard) as { panels: { targets?: { expr: string }[] }[] };
    const ofRules = groups.flatMap(({ rules }) => rules.map(({ expr }) => String(expr)));
    const ofPanels = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    assert.ok(ofRules.length > 20 && ofPanels.length > 20);
    // Grafana puts a duration there.
    const queries = [...ofRules, ...ofPanels].map((expr) => expr.replaceAll('$__rate_interval', '5m'));
    const broken = ['sum(up', 'up{job="a" -}} }', 'up offset'];

    assert.deepEqual(await invalidQueries([...queries, ...broken]), broken);
  });
});
