/** `comfy-api-proxy` of Comfy Org, the Comfy API v2 in front of a ComfyUI, from its package. */
import { reservePort } from '../support/reserve-port.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';
import { answers, startServerProcess } from './server-process.ts';

const PROXY = { name: 'comfy-api-proxy', version: '0.1.6' };

/** Why it cannot run here, for the `skip` of a test; false if it can. */
export function whyNoComfyApi(): string | false {
  return whyNoPackage(PROXY);
}

export interface ComfyApiServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** @param comfyUrl of the ComfyUI that does the work. */
export async function startComfyApi(comfyUrl: string): Promise<ComfyApiServer> {
  const python = await obtainPackage(PROXY);
  const port = await reservePort();
  const url = `http://127.0.0.1:${port}`;
  const { stop } = await startServerProcess({
    name: 'comfy-api-proxy',
    command: python,
    args: ['-m', 'comfy_api_proxy.cli', '--comfyui', comfyUrl, '--port', String(port)],
    env: { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1' },
    isReady: () => answers(`${url}/api/v2/health`),
  });
  return { url, stop };
}
