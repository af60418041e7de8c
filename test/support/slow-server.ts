/** A server whose responses start and then take as long as it likes, as a third party's URL may do. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Enough to keep a fetch running: far above the required pace (src/egress/response-bounds.ts). */
const PIECE = Buffer.alloc(64_000);
const PIECE_MS = 250;
/** `/slow/…` continues forever at an acceptable pace, `/silent/…` stops after its first byte. */
export class SlowServer {
  readonly asked: string[] = [];
  open = 0;
  mostOpen = 0;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const url = request.url ?? '';
      this.asked.push(url);
      this.open += 1;
      this.mostOpen = Math.max(this.open, this.mostOpen);
      const timer = url.startsWith('/slow/') ? setInterval(() => response.write(PIECE), PIECE_MS) : undefined;
      response.once('close', () => {
        this.open -= 1;
        clearInterval(timer);
      });
      response.writeHead(200, { 'content-type': 'image/png' }).write('x');
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
