/** What the pod of `helm test` meets: a server with one answer. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface AnsweringServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Answers every request with the status, and a body that names it and the path. */
export async function startAnswering(status: number): Promise<AnsweringServer> {
  const server = createServer((request, response) => {
    response.writeHead(status, { Connection: 'close' }).end(`${status} ${request.url}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

/** Runs Node. @returns its exit code and what it wrote. */
export function runToEnd(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly code: number | null; readonly output: string; readonly errors: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...args], { env: environment }, (_error, output, errors) => {
      resolve({ code: child.exitCode, output, errors });
    });
  });
}
