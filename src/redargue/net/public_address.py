"""Whether an IP address belongs to a host of the public internet.

Networks: the special-purpose registries of IANA (RFC 6890 and its updates), which Python's ``is_global`` follows
differently from release to release, and the addresses at which clouds answer with a machine's credentials.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

_NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",
            "168.63.129.16/32",  # a public address at which Azure answers its own machines
            "169.254.0.0/16",  # link-local, with the metadata services of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/3",  # multicast, reserved, broadcast
        ),
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
# Inside it: protocols, documentation, and tunnels, which deliver to an IPv4 address inside the address.
_NOT_PUBLIC_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")))
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})  # third quarter of an address that contains an IPv4 address


def is_public(address: str) -> bool:
    """Whether a packet to this address leaves for the public internet; False for anything that is not an address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return _is_public_v4(parsed) if isinstance(parsed, IPv4Address) else _is_public_v6(parsed)


def _is_public_v4(address: IPv4Address) -> bool:
    return not any(address in network for network in _NOT_PUBLIC)


def _is_public_v6(address: IPv6Address) -> bool:
    special = any(address in network for network in _NOT_PUBLIC_V6)
    return address in _PUBLIC_V6 and not special and int(address) >> 32 & 0xFFFFFFFF not in _ISATAP
