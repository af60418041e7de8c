/** The listener for scrapes and probes, on a real socket. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { silentLogger } from '../../src/telemetry/log.ts';
import { listenForMetrics } from '../../src/telemetry/metrics-listener.ts';
import type { MetricsListener } from '../../src/telemetry/metrics-listener.ts';

const ANY_PORT = { host: '127.0.0.1', port: 0 };

describe('the metrics listener', () => {
  let listener: MetricsListener;
  let isGood = true;
  let fails = false;
  before(async () => {
    const probes = new Map([['/readyz', async () => ({ isGood, parts: { database: isGood } })]]);
    const metrics = async (): Promise<string> => {
      if (fails) throw new Error('a secret of the inside');
      return 'a_total 1\n';
    };
    listener = await listenForMetrics(ANY_PORT, { metrics, probes }, silentLogger());
  });
  after(() => listener.close());

  it('serves the Prometheus text format', async () => {
    const response = await fetch(`${listener.url}/metrics?debug=1`);

    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    assert.equal(await response.text(), 'a_total 1\n');
  });

  it('responds to a probe with 200 or 503, and the reason', async () => {
    isGood = true;
    assert.equal((await fetch(`${listener.url}/readyz`)).status, 200);
    isGood = false;
    const response = await fetch(`${listener.url}/readyz`);
    assert.equal(response.status, 503);
    assert.deepEqual(await response.json(), { database: false });
  });

  it('has nothing else: 404 for other paths, 405 for other methods', async () => {
    for (const path of ['/', '/healthz', '/v1/tasks', '/metrics/', '//metrics', '/admin/queues']) {
      assert.equal((await fetch(`${listener.url}${path}`)).status, 404, path);
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS']) {
      const response = await fetch(`${listener.url}/metrics`, { method });
      assert.equal(response.status, 405, method);
      assert.equal(response.headers.get('allow'), 'GET');
    }
  });

  it('responds with 500 without details of the error, and continues', async () => {
    fails = true;
    const response = await fetch(`${listener.url}/metrics`);
    fails = false;

    assert.equal(response.status, 500);
    assert.doesNotMatch(await response.text(), /secret/);
    assert.equal((await fetch(`${listener.url}/metrics`)).status, 200);
  });

  it('survives what is not HTTP', async () => {
    const socket = connect(Number(new URL(listener.url).port), '127.0.0.1');
    socket.end('\u0016\u0003\u0001 garbage\r\n\r\n');
    socket.resume();
    await once(socket, 'close');

    assert.equal((await fetch(`${listener.url}/metrics`)).status, 200);
  });

  it('disconnects a client whose request does not arrive in time', async () => {
    const pages = { metrics: async () => '', probes: new Map() };
    const hasty = { headersTimeout: 200, connectionsCheckingInterval: 50 };
    const other = await listenForMetrics(ANY_PORT, pages, silentLogger(), hasty);
    const socket = connect(Number(new URL(other.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET /metrics HTTP/1.1\r\n');
    const drip = setInterval(() => socket.write('X-A: b\r\n'), 20);
    socket.resume();
    await once(socket, 'close');
    clearInterval(drip);

    await other.close();
  });

  it('names its variable when the port is in use', async () => {
    const port = Number(new URL(listener.url).port);
    const pages = { metrics: async () => '', probes: new Map() };

    await assert.rejects(listenForMetrics({ ...ANY_PORT, port }, pages, silentLogger()), {
      name: 'PortInUseError',
      message: `port ${port} is in use; stop what listens there, or set METRICS_PORT to another`,
    });
  });

  it('disconnects all clients when it closes', async () => {
    const pages = { metrics: () => new Promise<string>(() => {}), probes: new Map() };
    const other = await listenForMetrics(ANY_PORT, pages, silentLogger());
    const asked = fetch(`${other.url}/metrics`).then(
      () => 'answered',
      () => 'cut',
    );
    // The first request has arrived once a later one was answered.
    await fetch(`${other.url}/nothing`);
    await other.close();

    assert.equal(await asked, 'cut');
  });
});
