/**
 * The proxy variables of the operator's environment, as our own processes get them: what runs on this machine is reached
 * directly. Without that, libraries that follow `HTTP_PROXY` send what is meant for the loopback to the proxy.
 */

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

/** @returns the variables to set beside those of the environment; what the operator excepted stays excepted. */
export function exceptLoopback(environment: NodeJS.ProcessEnv): Record<string, string> {
  // An empty one says nothing.
  const general = withLoopback(
    [environment['no_proxy'], environment['NO_PROXY']].find((list) => list !== '' && list !== undefined),
  );
  // gRPC reads its own variable instead of the general one, where there is one.
  const grpc = environment['no_grpc_proxy'];
  return { NO_PROXY: general, no_proxy: general, ...(grpc === undefined ? {} : { no_grpc_proxy: withLoopback(grpc) }) };
}

function withLoopback(list = ''): string {
  const hosts = list.split(',').flatMap((host) => (host.trim() === '' ? [] : [host.trim()]));
  if (hosts.includes('*')) return '*';
  return [...new Set([...hosts, ...LOOPBACK])].join(',');
}
