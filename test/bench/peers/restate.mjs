/** Restate: a handler with one durable step, sent by a client with an idempotency key, through Restate's server. */
import * as restate from '@restatedev/restate-sdk';
import * as clients from '@restatedev/restate-sdk-clients';

/** Restate's SDK is written for Node 22; this is all that it misses in Node 20. */
Promise.withResolvers ??= () => {
  const resolvers = {};
  resolvers.promise = new Promise((resolve, reject) => Object.assign(resolvers, { resolve, reject }));
  return resolvers;
};

/** @param {{ ingressUrl: string, adminUrl: string, workerPort: number }} options */
export async function work({ adminUrl, workerPort }, execute) {
  const jobs = restate.service({
    name: 'jobs',
    handlers: {
      job: async (context, id) => {
        await context.run('execute', () => execute(id));
      },
    },
  });
  await restate.serve({ services: [jobs], port: workerPort });
  const response = await fetch(`${adminUrl}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://127.0.0.1:${workerPort}` }),
  });
  if (!response.ok) throw new Error(`the worker was not registered: ${await response.text()}`);
  return async () => process.exit(0);
}

export async function connect({ ingressUrl }) {
  const ingress = clients.connect({ url: ingressUrl });
  const jobs = ingress.serviceSendClient({ name: 'jobs' });
  return {
    submit: (id) => jobs.job(id, clients.SendOpts.from({ idempotencyKey: id })),
    result: (sent) => ingress.result(sent),
    async close() {},
  };
}
