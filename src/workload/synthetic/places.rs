//! Keys of messages: a path of names through an application, distinct for every number.

const AREAS: [&str; 16] = [
    "rider_app",
    "driver_app",
    "eats_consumer",
    "eats_courier",
    "merchant_console",
    "business_portal",
    "freight_carrier",
    "freight_shipper",
    "support_center",
    "identity_verification",
    "payments_wallet",
    "safety_toolkit",
    "growth_promotions",
    "maps_navigation",
    "fleet_management",
    "internal_tools",
];
const SCREENS: [&str; 32] = [
    "checkout",
    "home_screen",
    "trip_planner",
    "payment_method_selection",
    "order_tracking",
    "profile_settings",
    "destination_search",
    "upfront_fare_breakdown",
    "receipt_details",
    "scheduled_rides",
    "document_upload",
    "notification_preferences",
    "referral_program",
    "account_recovery",
    "earnings_summary",
    "vehicle_inspection_report",
    "delivery_instructions",
    "restaurant_menu",
    "cart_review",
    "membership_benefits",
    "lost_item_report",
    "emergency_assistance",
    "airport_pickup",
    "group_order",
    "cancellation_policy",
    "language_selector",
    "tax_information",
    "onboarding_welcome",
    "weekly_statement",
    "promotions_hub",
    "accessibility_options",
    "two_factor_login",
];
const PARTS: [&str; 32] = [
    "header",
    "footer",
    "primary_button",
    "secondary_button",
    "confirmation_dialog",
    "error_banner",
    "empty_state",
    "tooltip",
    "list_item",
    "bottom_sheet",
    "form_field",
    "progress_indicator",
    "push_notification",
    "email_template",
    "sms_template",
    "toast_message",
    "navigation_bar",
    "card_carousel",
    "legal_disclaimer",
    "countdown_timer",
    "map_overlay",
    "rating_prompt",
    "tip_selector",
    "fare_estimate",
    "status_label",
    "loading_placeholder",
    "search_results",
    "filter_menu",
    "date_picker",
    "photo_capture",
    "help_article",
    "feature_announcement",
];
const ROLES: [&str; 16] = [
    "title",
    "subtitle",
    "body",
    "label",
    "hint",
    "accessibility_label",
    "call_to_action",
    "description",
    "validation_error",
    "placeholder",
    "success_message",
    "warning",
    "footnote",
    "confirmation_question",
    "plural_many",
    "short_form",
];

const STEPS: [&str; 12] = [
    "first_visit_guidance",
    "returning_user",
    "guest_checkout",
    "retry_after_failure",
    "offline_mode_fallback",
    "review_step",
    "final_confirmation_step",
    "experiment_a",
    "experiment_b",
    "legacy_checkout_flow",
    "express_flow",
    "family_account",
];

/// Writes the key of a message, without its language. The number in mixed radix is the path, what is left of it a numbered variant.
pub fn write(message: u64, into: &mut Vec<u8>) {
    let mut rest = message;
    let mut digit = |radix: usize| {
        let digit = rest % radix as u64;
        rest /= radix as u64;
        digit as usize
    };
    // Neighbours differ in the last names first, as in a sorted document.
    let (role, part, step) = (digit(ROLES.len()), digit(PARTS.len()), digit(STEPS.len()));
    let (screen, area) = (digit(SCREENS.len()), digit(AREAS.len()));
    let variant = rest;
    into.extend_from_slice(b"translations");
    for name in [AREAS[area], SCREENS[screen], STEPS[step], PARTS[part], ROLES[role]] {
        into.push(b'.');
        into.extend_from_slice(name.as_bytes());
    }
    if variant > 0 {
        into.extend_from_slice(format!(".variant_{variant}").as_bytes());
    }
}
