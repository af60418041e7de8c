/** Darkroom in the place of a peer: a client of its HTTP API. Its worker is the worker process as it is deployed. */
const POLL_MS = 200;

/** @param {{ url: string, apiKey: string }} options */
export async function connect({ url, apiKey }) {
  const call = async (path, { body, ...init } = {}, headers = {}) => {
    const response = await fetch(`${url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { data } = await response.json();
    if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${path} was answered with ${response.status}`);
    return { data, hasWaited: response.headers.has('preference-applied') };
  };
  return {
    async submit(id) {
      const body = { model: 'bench/swatch', input: { prompt: 'teal' } };
      const { data } = await call('/v1/tasks', { method: 'POST', body }, { 'idempotency-key': id });
      return data.taskId;
    },
    async result(taskId) {
      for (;;) {
        const { data, hasWaited } = await call(`/v1/tasks/${taskId}`, {}, { prefer: 'wait=30' });
        if (data.status === 'success') return;
        if (data.status === 'fail') throw new Error(`task ${taskId} failed`);
        if (!hasWaited) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    async close() {},
  };
}
