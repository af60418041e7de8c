/** What the chart says after an install: what the values leave out, and nothing that is not so. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { letsOut } from './helm-egress.ts';
import { findObject, readValues, render, renderNotes, withValue } from './helm-chart.ts';
import type { Values } from './helm-chart.ts';
import { obtainHelm, whyNoHelm } from './helm-programs.ts';

const COLLECTOR = 'config.OTEL_EXPORTER_OTLP_ENDPOINT';

describe('the notes of the Helm chart', { skip: whyNoHelm(), timeout: 3_600_000 }, () => {
  let helm: string;
  let minimal: Values;
  before(async () => {
    helm = await obtainHelm('4.3.1');
    minimal = await readValues('ci/minimal-values.yaml');
  });

  type Changes = Readonly<Record<string, unknown>>;
  /** The minimal values with others at some paths. */
  const valuesWith = (changes: Changes): Values =>
    Object.entries(changes).reduce((values, [path, value]) => withValue(values, path, value), minimal);
  const notesWith = (changes: Changes): Promise<readonly string[]> => renderNotes(helm, valuesWith(changes));
  const mayReach = async (changes: Changes, address: string, port: number) => {
    const objects = await render(helm, valuesWith(changes));
    return ['-api', '-worker'].map((role) =>
      letsOut(findObject(objects, 'NetworkPolicy', role).spec.egress, address, port),
    );
  };

  it('say that scaling needs a scraper, and nothing of alerts', async () => {
    const scaling = { 'workerDefaults.autoscaling.enabled': true };
    const isOfScaling = (note: string): boolean => note.startsWith('workers scale by queue age');

    for (const [changes, isMissing] of [
      [{}, false],
      [scaling, true],
      [{ ...scaling, 'metrics.prometheusRule.enabled': true }, true],
      [{ ...scaling, 'metrics.serviceMonitor.enabled': true }, false],
    ] as const) {
      const notes = (await notesWith(changes)).filter(isOfScaling);
      assert.equal(notes.length, isMissing ? 1 : 0, JSON.stringify(changes));
      if (isMissing) assert.match(notes[0] ?? '', /metrics\.serviceMonitor\.enabled is false/);
    }
  });

  it('name each service that the policies keep pods from, and no other', async () => {
    const peers = [{ ipBlock: { cidr: '10.1.0.0/16' } }];
    const closed = { 'networkPolicy.egress.internet': false };
    for (const [changes, wanted] of [
      [{}, undefined],
      [{ 'store.endpoint': 'https://s3.example.com:9000' }, undefined],
      [{ 'store.endpoint': 'http://s3.example.com:9000' }, /egress\.store is empty, but store\.endpoint is plain HTTP/],
      [{ 'store.endpoint': 'https://s3.storage.svc.cluster.local:9000' }, /store\.endpoint is at a private address/],
      [{ 'store.endpoint': 'https://10.1.2.3:9000' }, /store\.endpoint is at a private address/],
      [{ 'store.endpoint': 'http://10.1.2.3:9000', 'networkPolicy.egress.store': peers }, undefined],
      [closed, /egress\.internet is false: pods cannot reach AWS S3\. Name its peers/],
      [{ ...closed, 'networkPolicy.egress.store': peers }, undefined],
      [{ ...closed, 'networkPolicy.egress.extra': [{ to: peers }] }, undefined],
      [{ [COLLECTOR]: 'https://otlp.example.com:4318' }, undefined],
      [{ [COLLECTOR]: 'http://otlp.example.com:4318' }, /egress\.otlp is empty, but config\.OTEL_\w+ is plain HTTP/],
      [{ [COLLECTOR]: 'http://collector:4318', 'networkPolicy.egress.otlp': peers }, undefined],
    ] as const) {
      const notes = (await notesWith(changes)).filter((note) => /pods cannot reach/.test(note));
      assert.equal(notes.length, wanted === undefined ? 0 : 1, `${JSON.stringify(changes)}: ${notes.join(' ')}`);
      if (wanted !== undefined) assert.match(notes[0] ?? '', wanted);
    }
  });

  it('come with rules for public services on ports of their own', async () => {
    const store = { 'store.endpoint': 'https://s3.example.com:9000/' };
    const collector = { [COLLECTOR]: 'https://otlp.example.com:4318/otlp' };

    assert.deepEqual(await mayReach({}, '8.8.4.4', 9000), [false, false]);
    assert.deepEqual(await mayReach(store, '8.8.4.4', 9000), [true, true]);
    assert.deepEqual(await mayReach(store, '10.1.2.3', 9000), [false, false]);
    assert.deepEqual(await mayReach({ ...store, 'egress.deny': ['8.8.0.0/16'] }, '8.8.4.4', 9000), [false, false]);
    assert.deepEqual(await mayReach({ ...store, 'networkPolicy.egress.internet': false }, '8.8.4.4', 9000), [
      false,
      false,
    ]);
    assert.deepEqual(await mayReach(collector, '8.8.4.4', 4318), [true, true]);
    const named = { ...collector, 'networkPolicy.egress.otlp': [{ ipBlock: { cidr: '10.1.0.0/16' } }] };
    assert.deepEqual(await mayReach(named, '8.8.4.4', 4318), [false, false]);
    assert.deepEqual(await mayReach(named, '10.1.2.3', 4318), [true, true]);
  });

  it('say what a role of the machine needs, unless the role comes another way', async () => {
    const metadata = { to: [{ ipBlock: { cidr: '169.254.170.23/32' } }], ports: [{ protocol: 'TCP', port: 80 }] };
    const annotations = { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::123456789012:role/darkroom' };
    const ofRoles = async (changes: Changes) =>
      (await notesWith(changes)).filter((note) => note.includes('169.254.169.254')).length;

    assert.equal(await ofRoles({}), 1);
    assert.equal(await ofRoles({ 'networkPolicy.enabled': false }), 0);
    assert.equal(await ofRoles({ 'serviceAccount.annotations': annotations }), 0);
    assert.equal(await ofRoles({ 'secrets.s3AccessKeyId.key': 'ID', 'secrets.s3SecretAccessKey.key': 'KEY' }), 0);
    assert.equal(await ofRoles({ 'networkPolicy.egress.extra': [metadata] }), 0);
    assert.deepEqual(await mayReach({ 'networkPolicy.egress.extra': [metadata] }, '169.254.170.23', 80), [true, true]);
  });
});
