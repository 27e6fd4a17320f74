#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <sys/socket.h>
// Included after the socket's own header, which these headers need.
#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <unistd.h>

int lanyard_network_watch(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (fd < 0) return -errno;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK};
  address.nl_groups =
      RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) {
    int reason = errno;
    close(fd);
    return -reason;
  }
  return fd;
}

int lanyard_network_list(int fd, enum lanyard_network_kind kind) {
  struct {
    struct nlmsghdr header;
    struct rtgenmsg family;
  } request = {{0}};
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.family);
  request.header.nlmsg_type =
      kind == LANYARD_LINK ? RTM_GETLINK : kind == LANYARD_ADDRESS ? RTM_GETADDR : RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.family.rtgen_family = AF_UNSPEC;
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  ssize_t sent;
  do {
    sent = sendto(fd, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : 0;
}

/// Copies the address or gateway, which identifies the entry.
static void identify(struct lanyard_network_news *news, const struct rtattr *attribute) {
  size_t length = RTA_PAYLOAD(attribute);
  memcpy(news->address, RTA_DATA(attribute), length < sizeof news->address ? length : sizeof news->address);
}

static uint32_t number(const struct rtattr *attribute) {
  uint32_t value = 0;
  if (RTA_PAYLOAD(attribute) >= sizeof value) memcpy(&value, RTA_DATA(attribute), sizeof value);
  return value;
}

static void read_link(struct lanyard_network_news *news, struct nlmsghdr *message) {
  struct ifinfomsg *link = NLMSG_DATA(message);
  int length = (int)IFLA_PAYLOAD(message);
  int state = 0;
  news->link = (uint32_t)link->ifi_index;
  // A part of a bridge or a bond leads nowhere by itself; the whole is a link of its own.
  int is_part = 0;
  for (struct rtattr *a = IFLA_RTA(link); RTA_OK(a, length); a = RTA_NEXT(a, length)) {
    if (a->rta_type == IFLA_MASTER) is_part = number(a) != 0;
    if (a->rta_type == IFLA_OPERSTATE && RTA_PAYLOAD(a) >= 1) state = *(uint8_t *)RTA_DATA(a);
  }
  news->is_outward = !(link->ifi_flags & IFF_LOOPBACK) && !is_part;
  // RFC 2863 §3.1.14; drivers that report no state (tunnels) are up when they run.
  news->is_usable = state == IF_OPER_UP || (state == IF_OPER_UNKNOWN && (link->ifi_flags & IFF_RUNNING));
}

static void read_address(struct lanyard_network_news *news, struct nlmsghdr *message) {
  struct ifaddrmsg *address = NLMSG_DATA(message);
  int length = (int)IFA_PAYLOAD(message);
  uint32_t flags = address->ifa_flags;
  int has_local = 0;
  news->link = address->ifa_index;
  news->family = address->ifa_family;
  for (struct rtattr *a = IFA_RTA(address); RTA_OK(a, length); a = RTA_NEXT(a, length)) {
    if (a->rta_type == IFA_FLAGS) flags = number(a);
    // On a point-to-point link IFA_ADDRESS is the peer's.
    if (a->rta_type == IFA_LOCAL) has_local = 1;
    if (a->rta_type == IFA_LOCAL || (a->rta_type == IFA_ADDRESS && !has_local)) identify(news, a);
  }
  news->is_outward = address->ifa_scope < RT_SCOPE_LINK;
  // RFC 4862 §5.4: usable only after duplicate address detection.
  news->is_usable = !(flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED));
}

static void read_route(struct lanyard_network_news *news, struct nlmsghdr *message) {
  struct rtmsg *route = NLMSG_DATA(message);
  int length = (int)RTM_PAYLOAD(message);
  news->family = route->rtm_family;
  news->metric = 0;
  for (struct rtattr *a = RTM_RTA(route); RTA_OK(a, length); a = RTA_NEXT(a, length)) {
    if (a->rta_type == RTA_OIF) news->link = number(a);
    if (a->rta_type == RTA_GATEWAY) identify(news, a);
    if (a->rta_type == RTA_PRIORITY) news->metric = number(a);
  }
  // Tunnels route the two halves of the address space, so that the default route stays in place.
  news->is_outward = route->rtm_dst_len <= 1 && route->rtm_type == RTN_UNICAST && !(route->rtm_flags & RTM_F_CLONED);
  news->is_usable = 1;
}

/// False for another kind of message, and for a truncated one.
static int read_message(struct lanyard_network_news *news, struct nlmsghdr *message) {
  memset(news, 0, sizeof *news);
  size_t body = 0;
  switch (message->nlmsg_type) {
  case RTM_NEWLINK: case RTM_DELLINK: news->kind = LANYARD_LINK; body = sizeof(struct ifinfomsg); break;
  case RTM_NEWADDR: case RTM_DELADDR: news->kind = LANYARD_ADDRESS; body = sizeof(struct ifaddrmsg); break;
  case RTM_NEWROUTE: case RTM_DELROUTE: news->kind = LANYARD_ROUTE; body = sizeof(struct rtmsg); break;
  case NLMSG_DONE: case NLMSG_ERROR: news->kind = LANYARD_END_OF_LIST; return 1;
  default: return 0;
  }
  if (message->nlmsg_len < NLMSG_LENGTH(body)) return 0;
  news->is_gone = message->nlmsg_type == RTM_DELLINK || message->nlmsg_type == RTM_DELADDR ||
                  message->nlmsg_type == RTM_DELROUTE;
  if (news->kind == LANYARD_LINK) read_link(news, message);
  if (news->kind == LANYARD_ADDRESS) read_address(news, message);
  if (news->kind == LANYARD_ROUTE) read_route(news, message);
  return 1;
}

ssize_t lanyard_network_read(int fd, void *bytes, size_t capacity) {
  struct sockaddr_nl sender = {0};
  socklen_t sender_length = sizeof sender;
  ssize_t count;
  do {
    count = recvfrom(fd, bytes, capacity, 0, (struct sockaddr *)&sender, &sender_length);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  return sender.nl_pid == 0 ? count : 0;  // any process may send here; only the kernel counts
}

int lanyard_network_next(const void *bytes, size_t count, size_t *offset, struct lanyard_network_news *news) {
  while (*offset < count) {
    struct nlmsghdr *message = (struct nlmsghdr *)((const char *)bytes + *offset);
    if (!NLMSG_OK(message, count - *offset)) return 0;
    *offset += NLMSG_ALIGN(message->nlmsg_len);
    if (read_message(news, message)) return 1;
  }
  return 0;
}
