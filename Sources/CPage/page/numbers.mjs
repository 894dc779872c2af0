// Numbers in words. Not by Intl: the first use of it alone takes longer than a frame.

/// 12345 as `12,345`, rounded to so many decimals.
export function grouped(number, decimals = 0) {
  const [whole, rest] = number.toFixed(decimals).split(".");
  const digits = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest && Number(rest) !== 0 ? `${digits}.${rest}` : digits;
}
