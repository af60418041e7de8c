/**
 * The proxy variables of the operator's environment, as passed to our own processes: services on this machine are
 * reached directly. Otherwise libraries that follow `HTTP_PROXY` would send loopback requests to the proxy.
 */

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

/** @returns the variables to set in addition to the environment; the operator's exceptions are kept. */
export function exceptLoopback(environment: NodeJS.ProcessEnv): Record<string, string> {
  // An empty variable counts as unset.
  const general = withLoopback(
    [environment['no_proxy'], environment['NO_PROXY']].find((list) => list !== '' && list !== undefined),
  );
  // gRPC reads its own variable instead of the general one, if it is set.
  const grpc = environment['no_grpc_proxy'];
  return { NO_PROXY: general, no_proxy: general, ...(grpc === undefined ? {} : { no_grpc_proxy: withLoopback(grpc) }) };
}

function withLoopback(list = ''): string {
  const hosts = list.split(',').flatMap((host) => (host.trim() === '' ? [] : [host.trim()]));
  if (hosts.includes('*')) return '*';
  return [...new Set([...hosts, ...LOOPBACK])].join(',');
}
