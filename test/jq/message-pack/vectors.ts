/** Bodies of the contract, made with a Go codec. */
export const VECTORS = {
  'POST /job minimal': '82a46e616d65a46d61696ca8617267756d656e7481a2746fa3614062',
  'POST /job all':
    '86a46e616d65a46d61696ca8617267756d656e7481a2746fa3614062a87072696f72697479fba96d61785f7265747279d30000000000000003ab6b6565705f726573756c74c3a774696d656f7574d3000000000000001e',
  'POST /worker': '82a46e616d65a8776f726b65722d31a86d61785f6a6f627303',
  'POST /done success': '83a66a6f625f6964a26a31a474797065a773756363657373a6726573756c74920102',
  'POST /done failure':
    '86a66a6f625f6964a26a31a474797065a76661696c757265a6726561736f6ea56f74686572ac73686f756c645f7265747279c3a76d657373616765a4626f6f6da56572726f72c0',
  'POST /worker-job':
    '85a26964a26a31a66a6f625f6964a26a31a46e616d65a46d61696ca8617267756d656e7481a2746fa3614062a774696d656f75741e',
} as const;

export type VectorName = keyof typeof VECTORS;

export function vector(name: VectorName): Buffer {
  return Buffer.from(VECTORS[name], 'hex');
}

/** Values that decoding and encoding again would change: a float 1.0, an int64, a timestamp, integer keys … */
export const FRAGILE = {
  'a float 1.0': 'cb3ff0000000000000',
  'a float32': 'ca3f800000',
  'an int64 over 2^53': 'd37fffffffffffffff',
  'a uint64': 'cfffffffffffffffff',
  'a non-minimal integer': 'd30000000000000003',
  'a timestamp of 96 bits': 'c70cff3b9ac9ff00000000ffffffff',
  'a map with integer keys': '8201a161ff02',
  'a map with equal keys': '82a16101a16102',
  'an extension': 'd4052a',
  bytes: 'c403010203',
  'text that is no UTF-8': 'a2fffe',
  nil: 'c0',
} as const;
